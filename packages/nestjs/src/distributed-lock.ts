import { InvalidOptionError } from '@leasehold/core'
import { checkKey, demandOption, parseDuration } from '@leasehold/core/adapter'
import { type LockContendedError, type LockedOptions, lockedFunction } from '@leasehold/core/locked'
import { holdAtLeast as holding } from '@leasehold/core/schedule'
import { carryMetadata } from './carried-metadata.ts'
import type { AsyncMethod, DistributedLockOptions, LockDecorator, OnContended } from './distributed-lock-options.ts'
import { guardedCalls } from './guarded-calls.ts'
import { injectedLocker, injectLocker } from './injected-locker.ts'
import { LockContendedException } from './lock-contended-exception.ts'
import { namedMistake } from './named-mistake.ts'
import { warnOfOverrun } from './warn-of-overrun.ts'

/**
 * Makes a decorator that runs a method of a provider or controller under a lock. The method must return a promise; the
 * arguments of `key` have the types of the method's arguments. It may be above or below Nest's decorators, whose
 * metadata it keeps.
 *
 * The lock is held until the method's promise has settled. Within the method, `currentLease()` is the lease. A guarded
 * method that calls another one with the same key waits for itself until its wait is over.
 *
 * @example
 * ```ts
 * @Injectable()
 * class Orders {
 *   @DistributedLock({ key: (userId, productId) => `order:${userId}:${productId}`, wait: '3s', failureMessage: 'Try again' })
 *   async process(userId: string, productId: string): Promise<Receipt> {
 *     return charge(userId, productId)
 *   }
 *
 *   @Cron('0 3 * * *')
 *   @DistributedLock({ key: 'cron:nightly', wait: 0, holdAtLeast: '30s', onContended: 'skip' })
 *   async nightly(): Promise<void> {}
 * }
 * ```
 *
 * @throws InvalidOptionError naming the method, and the first option that is unknown or bad. The method rejects with
 *   - what it throws itself
 *   - {@link LockContendedException} if somebody held the lock until the wait was over
 *   - {@link ApplicationClosingException} if the application closes before it is called
 *   - whatever else `withLock` rejects with: a store that does not answer is a `StoreUnavailableError`
 */
export function DistributedLock<This extends object, M extends AsyncMethod>(
  options: DistributedLockOptions<This, M>,
): LockDecorator<This, M> {
  return (target, name, descriptor) => {
    const method = descriptor?.value
    demandOption(typeof target === 'object' && typeof method === 'function', 'method', 'a method of an instance')
    const title = `${target.constructor.name}.${String(name)}`
    try {
      descriptor.value = wrapped(method, title, options)
    } catch (error) {
      throw error instanceof InvalidOptionError ? namedMistake(error, title, Object(options)) : error
    }
    if (!options.locks) injectLocker(target, options.locker)
    carryMetadata(method, descriptor.value)
  }
}

function wrapped<This extends object, M extends AsyncMethod>(
  method: M,
  title: string,
  options: DistributedLockOptions<This, M>,
): M {
  demandOption(typeof options === 'object' && options !== null, 'options', 'an object with a key')
  const { locker, locks, holdAtLeast, ...rest } = options
  const onContended: OnContended<M> | 'skip' = options.onContended ?? 409
  const isKnown = [409, 423, 'skip'].includes(onContended as string) || typeof onContended === 'function'
  demandOption(isKnown, 'onContended', '409, 423, "skip" or a function')
  if (typeof rest.key === 'string') checkKey(rest.key)
  const atLeast = holdAtLeast === undefined ? undefined : parseDuration('holdAtLeast', holdAtLeast)
  const skips = onContended === 'skip'
  const guard: LockedOptions<This, M> = {
    ...rest,
    locks: (self) => {
      const own = locks?.(self) ?? injectedLocker(self, locker)
      const calls = atLeast === undefined ? own : holding(own, atLeast)
      return guardedCalls(calls, { method: title, skips })
    },
    onContended: answerTo<M>(onContended),
    onOverrun: rest.onOverrun ?? (skips ? warnOfOverrun(title) : undefined),
  }
  return lockedFunction(method, guard as LockedOptions<ThisParameterType<M>, M>) as unknown as M
}

function answerTo<M extends AsyncMethod>(onContended: OnContended<M> | 'skip') {
  return (error: LockContendedError): Awaited<ReturnType<M>> => {
    if (typeof onContended === 'function') return onContended(error)
    if (onContended !== 'skip') throw new LockContendedException(error, onContended as 409 | 423)
    return undefined as Awaited<ReturnType<M>>
  }
}
