import { sharedQueue } from '#shared-queue'
import { clockWithin, homeContext } from '#sharing'
import { type Acquired, acquireAlone } from './acquire/acquisition.ts'
import type { Context } from './context.ts'
import { AcquireTimeoutError, about, demandOption, InvalidOptionError, type StoreUnavailableError } from './errors.ts'
import { emitter, failureOf, type OnEvent } from './events.ts'
import type { Grant } from './lease/grant.ts'
import { HeldLease } from './lease/held-lease.ts'
import type { Lease, Work } from './lease/lease.ts'
import { Renewal } from './lease/renewal.ts'
import { withLease } from './lease/with-lease.ts'
import { openWork, type WaitUntil } from './open-work.ts'
import { type AcquireOptions, checkName, demandObject, type Plan, planFor } from './options.ts'
import { answered } from './store/answered.ts'
import { ask } from './store/ask.ts'
import { checkKey } from './store/key.ts'
import type { LeaseStore, LockState, Refused, Unknown } from './store/lease-store.ts'
import { type Clock, systemClock } from './timing/clock.ts'
import { type Duration, parseDuration } from './timing/duration.ts'
import { instant, waitedMs } from './timing/validity.ts'
import type { ReleaseNotifier } from './waiting/release-notifier.ts'

export interface LockerOptions extends Omit<AcquireOptions, 'signal'> {
  /** Where leases are kept. Stores do not know of each other: who contends for a lock must use the same. */
  readonly store: LeaseStore
  /** Tells waiters that a lease was released; without one they poll. Refused if its prefix is not the store's. */
  readonly notifier?: ReleaseNotifier | undefined
  /** Names this locker to those who check its locks: up to 64 of `A-Z a-z 0-9 _ -`. */
  readonly name?: string
  readonly onEvent?: OnEvent
  /**
   * Takes what may go on behind the caller's back: each release and `close`, whether or not it is awaited, and the undoing of an
   * acquire that was given up. For runtimes that cut off or freeze what is under way once the response is sent: `(task) =>
   * ctx.waitUntil(task)`. It gets promises that never reject; if it throws, that changes nothing.
   */
  readonly waitUntil?: WaitUntil
  /** Default: the runtime's. */
  readonly clock?: Clock
}

/** What may be said to `tryAcquire`, which does not wait. */
export type TryAcquireOptions = Pick<
  AcquireOptions,
  'ttl' | 'signal' | 'renew' | 'maxHold' | 'minValidity' | 'longHeld'
>

/** The calls of a locker for one key. It holds no state, so there is no pool of them to size. */
export interface KeyLocker {
  acquire(options?: AcquireOptions): Promise<Lease>
  tryAcquire(options?: TryAcquireOptions): Promise<Lease | null>
  withLock<T>(work: Work<T>): Promise<T>
  withLock<T>(options: AcquireOptions | undefined, work: Work<T>): Promise<T>
  inspect(): Promise<LockState>
  isLocked(): Promise<boolean>
  revoke(): Promise<boolean>
}

export interface Locker {
  /**
   * Waits for the lock and takes it.
   *
   * @throws AcquireTimeoutError when it was held until the wait was over, or each grant came too late · StoreUnavailableError when the store did not
   *   answer · the signal's own reason when that is aborted · InvalidOptionError · LeaseholdError with code `CLOSED`, or
   *   `KIND_MISMATCH` if the key holds something that is not a lock
   */
  acquire(key: string, options?: AcquireOptions): Promise<Lease>
  /** Tries once. Null means that someone holds it; otherwise throws as `acquire` does. */
  tryAcquire(key: string, options?: TryAcquireOptions): Promise<Lease | null>
  /**
   * Runs work under the lock and gives the lock back whatever happens.
   *
   * @throws LeaseLostError whose `result` is what the work returned, if the lease was lost meanwhile · the work's own
   *   error, which wins · whatever `acquire` throws
   */
  withLock<T>(key: string, work: Work<T>): Promise<T>
  withLock<T>(key: string, options: AcquireOptions | undefined, work: Work<T>): Promise<T>
  /** Binds a key, and options for each call. */
  for(key: string, options?: AcquireOptions): KeyLocker
  /**
   * Who has the lock now.
   *
   * @throws StoreUnavailableError · InvalidOptionError · LeaseholdError with code `KIND_MISMATCH` if the key holds
   *   something that is not a lock
   */
  inspect(key: string): Promise<LockState>
  isLocked(key: string): Promise<boolean>
  /**
   * Takes the lock from whoever holds it: an operator's act. The holder learns it at its next renewal, one of this locker
   * at once, and its signal fires. Answers whether it was held. Sent once: without an answer nobody knows, so check before
   * you repeat it.
   *
   * @throws StoreUnavailableError · InvalidOptionError
   */
  revoke(key: string): Promise<boolean>
  /**
   * Refuses new calls, ends waits (both with code `CLOSED`), lets running work go on for `grace` (default 5 s), then takes
   * away what is still held (signals fire with cause `closed`) and ends the notifier's subscriptions. Safe to repeat.
   */
  close(options?: { readonly grace?: Duration }): Promise<void>
}

/** What `withLock` is given after its key: options may stand before the work. */
type Given<T> = [work: Work<T>] | [options: AcquireOptions | undefined, work: Work<T>]

/** What a store answers to a question about one key. */
type Answered<Q extends 'inspect' | 'revoke'> = Exclude<Awaited<ReturnType<LeaseStore[Q]>>, Unknown | Refused>

/**
 * Makes a locker: the calls of one process for any number of locks in one store. Does no I/O, draws no randomness and
 * sets no timer, so it may stand at module scope, on Workers too.
 *
 * At most one holder has a lock at a time in the store's own timeline. What is not promised, such as a lock that
 * survives an asynchronous failover, is in `docs/guarantees.md`.
 *
 * @throws InvalidOptionError for a bad name or default, or a notifier whose prefix is not the store's
 */
export function createLocker(options: LockerOptions): Locker {
  demandOption(Object(options) === options, 'options', 'an object')
  const { store, notifier, name, onEvent, waitUntil, clock = systemClock, ...defaults } = options
  demandOption(typeof store?.acquire === 'function', 'store', 'a store', store ?? options)
  demandOption(!notifier || typeof notifier.waiter === 'function', 'notifier', 'a notifier', notifier)
  const prefix = store.prefix ?? notifier?.prefix
  demandOption((notifier?.prefix ?? prefix) === prefix, 'notifier', `one with prefix "${prefix}"`, notifier)
  demandOption(!onEvent || typeof onEvent === 'function', 'onEvent', 'a function')
  demandOption(!waitUntil || typeof waitUntil === 'function', 'waitUntil', 'a function')
  checkName(name)
  planFor('-', defaults)
  demandOption(!('signal' in defaults), 'signal', 'given to each call')

  const emit = emitter(onEvent)
  const home = homeContext()
  const work = openWork(home, waitUntil)
  const background = clockWithin(clock, home)
  const context: Context = { store, notifier, clock, background, name, work, home, emit }
  const stopTelling = notifier?.onStateChange(emit)
  const jointRenewal = new Renewal(context)
  const queueOfAll = sharedQueue(context)
  let closing: Promise<void> | undefined

  const attempt = (plan: Plan): Promise<Acquired> => queueOfAll()?.acquire(plan) ?? acquireAlone(context, plan)

  /** What the caller gets of a grant. */
  function leased(plan: Plan, grant: Grant, acquired: Acquired): HeldLease {
    const queue = queueOfAll()
    const watchdog = queue ? jointRenewal : new Renewal(context)
    const lease = new HeldLease(context, watchdog, queue, grant, acquired)
    if (plan.signal?.aborted) {
      // The caller gave up in the very moment of the grant and will not check it.
      work.background(() => lease.release())
      throw plan.signal.reason
    }
    if (!lease.lostBecause) watchdog.watch(grant, plan)
    const { key, fence, waitedMs, commands } = lease
    emit({ type: 'acquired', key, fence, waitedMs, commands })
    return lease
  }

  /** Rejects for bad options. Not an async function, which would keep what it was given for as long as the call waits. */
  function demand(key: string, ...layers: readonly (AcquireOptions | undefined)[]): Promise<HeldLease> {
    try {
      const plan = planFor(key, defaults, ...layers)
      return wait(plan, (acquired) => {
        throw new AcquireTimeoutError(key, acquired, plan)
      })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async function wait<N>(plan: Plan, ifHeld: (acquired: Acquired) => N): Promise<HeldLease | N> {
    const { key, signal } = plan
    const startedAt = instant(clock)
    try {
      const acquired = await attempt(plan)
      return acquired.grant ? leased(plan, acquired.grant, acquired) : ifHeld(acquired)
    } catch (error) {
      const isAborted = error === signal?.reason
      // What comes from a reply or from a timer gets the stack of this call, which shows who made it.
      const cause = isAborted ? error : about(key, error)
      const reason = isAborted ? 'aborted' : failureOf(cause as StoreUnavailableError)
      const { commands } = plan
      emit({ type: 'acquire-failed', key, reason, waitedMs: waitedMs(clock, startedAt), commands, cause })
      throw cause
    }
  }

  function bind(key: string, bound?: AcquireOptions): KeyLocker {
    const query = async <Q extends 'inspect' | 'revoke'>(action: Q): Promise<Answered<Q>> => {
      checkKey(key)
      work.assertOpen()
      // A question may be repeated; a revocation may not: the repeat of one whose answer was lost would hit a successor.
      const once = action === 'revoke'
      const { outcome, before } = await ask<unknown>(context, Infinity, (call) => store[action](key, call), {
        once,
      })
      return answered(action, key, outcome as Answered<Q>, before)
    }
    const inspect = async (): Promise<LockState> => (await query('inspect')).state

    return {
      acquire: (options) => demand(key, bound, options),
      async tryAcquire(options) {
        const plan = planFor(key, defaults, bound, options, { wait: 0 })
        for (const name of ['wait', 'recheck', 'strategy', 'budget']) {
          if ((options as AcquireOptions | undefined)?.[name as keyof AcquireOptions] !== undefined)
            throw new InvalidOptionError(name, 'is for acquire only')
        }
        return wait(plan, () => null)
      },
      async withLock<T>(...given: Given<T>): Promise<T> {
        const [options, work] =
          given.length > 1 ? (given as [AcquireOptions | undefined, Work<T>]) : [undefined, given[0] as Work<T>]
        demandOption(typeof work === 'function', 'work', 'a function', work)
        return withLease(clock, await demand(key, bound, options), work)
      },
      inspect,
      isLocked: async () => (await inspect()).held,
      async revoke() {
        const present = queueOfAll()?.holding(key)
        const revoked = (await query('revoke')).type === 'revoked'
        // A holder of this process need not wait for its next renewal to learn it.
        if (revoked && present) void home(() => present.lose('gone'))
        return revoked
      },
    }
  }

  return {
    acquire: (key, options) => demand(key, options),
    tryAcquire: (key, options) => bind(key).tryAcquire(options),
    withLock: <T>(key: string, ...given: Given<T>): Promise<T> => bind(key).withLock(...(given as [Work<T>])),
    for(key, options) {
      planFor(key, defaults, options)
      return bind(key, options)
    },
    inspect: (key) => bind(key).inspect(),
    isLocked: (key) => bind(key).isLocked(),
    revoke: (key) => bind(key).revoke(),
    async close(options = {}) {
      demandObject(options)
      const graceMs = parseDuration('grace', options.grace ?? 5_000, 0)
      queueOfAll()?.close()
      closing ??= work.close(clock, graceMs, store.commandDeadlineMs).then(() => {
        stopTelling?.()
        return notifier?.close()
      })
      work.handOver(closing)
      return closing
    },
  }
}
