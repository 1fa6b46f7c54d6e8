import { demandOption, parseDuration } from '@leasehold/core/adapter'
import { type LockCalls, type LockContendedError, type LockedOptions, lockedFunction } from '@leasehold/core/locked'
import { holdAtLeast as holding } from '@leasehold/core/schedule'
import { leaseScope } from '#process-state'
import { carryMetadata } from './carried-metadata.ts'
import type { Answer, AsyncMethod, DistributedLockOptions, LockDecorator } from './distributed-lock-options.ts'
import { injectedLocker, injectLocker } from './injected-locker.ts'
import { LockContendedException } from './lock-contended-exception.ts'
import { Overruns } from './overruns.ts'

/**
 * Makes a decorator that runs a method of a provider or controller under a lock. The method must answer a promise; the arguments of
 * `key` have the types of its own. It stands before or after the decorators of Nest, whose metadata it keeps.
 *
 * The lock is held until the promise of the method has settled. Within it, `currentLease()` is the lease. A guarded method that calls
 * another one with the same key waits for itself in vain.
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
 * @throws InvalidOptionError naming the first option that is unknown or bad. The method rejects with
 *   - what it throws itself
 *   - {@link LockContendedException} if somebody held the lock until the wait was over
 *   - whatever else `withLock` rejects with: a store that does not answer is a `StoreUnavailableError`
 */
export function DistributedLock<This extends object, M extends (...args: never[]) => Promise<void>>(
  options: DistributedLockOptions<This, M, 'skip'> & { readonly onContended: 'skip' },
): LockDecorator<This, M>
export function DistributedLock<This extends object, M extends AsyncMethod>(
  options: DistributedLockOptions<This, M, Answer<M> | undefined>,
): LockDecorator<This, M>
export function DistributedLock<This extends object, M extends AsyncMethod>(
  options: DistributedLockOptions<This, M, Answer<M> | 'skip' | undefined>,
): LockDecorator<This, M> {
  const { locker, locks, onContended = 409, holdAtLeast, ...rest } = options
  const atLeast = holdAtLeast === undefined ? undefined : parseDuration('holdAtLeast', holdAtLeast)
  return (target, name, descriptor) => {
    const method = descriptor?.value
    demandOption(typeof target === 'object' && typeof method === 'function', 'method', 'a method of an instance')
    if (!locks) injectLocker(target, locker)
    const overruns = new Overruns(`${target.constructor.name}.${String(name)}`)
    const guard: LockedOptions<This, M> = {
      ...rest,
      locks: (self) => {
        const own = locks?.(self) ?? injectedLocker(self, locker)
        return noted(atLeast === undefined ? own : holding(own, atLeast), overruns)
      },
      onContended: answerTo<M>(onContended, overruns),
    }
    descriptor.value = lockedFunction(method, guard as LockedOptions<ThisParameterType<M>, M>) as unknown as M
    carryMetadata(method, descriptor.value)
  }
}

/** The calls of a locker, with the lease in the async context of the work, and each run noted. */
const noted = (calls: LockCalls, overruns: Overruns): LockCalls => ({
  withLock: (key, options, work) =>
    calls.withLock(key, options, (lease) => leaseScope.run(lease, () => overruns.run(key, () => work(lease)))),
})

function answerTo<M extends AsyncMethod>(onContended: Answer<M> | 'skip', overruns: Overruns) {
  return (error: LockContendedError): Awaited<ReturnType<M>> => {
    if (typeof onContended === 'function') return onContended(error)
    if (onContended !== 'skip') throw new LockContendedException(error, onContended)
    overruns.skipped(error.key)
    return undefined as Awaited<ReturnType<M>>
  }
}
