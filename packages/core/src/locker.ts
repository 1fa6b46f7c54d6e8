import { lockers } from '#beside'
import { jointCalls } from '#joint-calls'
import { sharedQueue } from '#shared-queue'
import { clockWithin, homeContext } from '#sharing'
import type { Context } from './context.ts'
import { demandObject, demandOption } from './errors.ts'
import { emitter, type OnEvent } from './events.ts'
import { KeyCalls, type KeyLocker, type TryAcquireOptions } from './key-locker.ts'
import type { Lease, Work } from './lease/lease.ts'
import { Renewal } from './lease/renewal.ts'
import { openWork, type WaitUntil } from './open-work.ts'
import { type AcquireOptions, callSettings, checkName } from './options.ts'
import { checkKey } from './store/key.ts'
import type { LeaseStore, LockState } from './store/lease-store.ts'
import { type Clock, systemClock } from './timing/clock.ts'
import { type Duration, parseDuration } from './timing/duration.ts'
import type { ReleaseNotifier } from './waiting/release-notifier.ts'

export interface LockerOptions extends Omit<AcquireOptions, 'signal'> {
  /** Where leases are kept. Stores do not know of each other: all who contend for a lock must use the same one. */
  readonly store: LeaseStore
  /** Wakes waiters when a lock is released; without one they poll. It must have the store's prefix. */
  readonly notifier?: ReleaseNotifier | undefined
  /** The holder name that `inspect` shows for this locker's leases: up to 64 of `A-Z a-z 0-9 _ -`; default none. */
  readonly name?: string | undefined
  /** Called with each event of the locker. Errors that it throws are ignored. */
  readonly onEvent?: OnEvent | undefined
  /**
   * Called with a promise for each piece of work that may outlive its call: every release and `close`, awaited or not,
   * and the undoing of an acquire that was given up. For runtimes that stop once the response is sent:
   * `(task) => ctx.waitUntil(task)`. The promises never reject. Errors that it throws are ignored.
   */
  readonly waitUntil?: WaitUntil | undefined
  /** The source of time; default: the runtime's clock. */
  readonly clock?: Clock | undefined
}

/**
 * One process's API for any number of locks in one store; made by {@link createLocker}. Disposing a locker closes it
 * with the default grace.
 */
export interface Locker extends AsyncDisposable {
  /**
   * Acquires the lock, waiting for it if somebody holds it.
   *
   * @example
   * ```ts
   * await using lease = await locks.acquire('order:1', { ttl: '10s', wait: '5s' })
   * lease.assertValid()
   * await ship({ fence: lease.fence })
   * ```
   *
   * @throws AcquireTimeoutError if the lock was still held when the wait or the budget ran out, or every grant came too
   *   late
   * @throws StoreUnavailableError if the store did not answer
   * @throws InvalidOptionError for a bad key or option
   * @throws LeaseholdError with code `CLOSED` once the locker is closed
   * @throws LeaseholdError with code `KIND_MISMATCH` if the key holds something that is not a lock
   * @throws the signal's own reason if `signal` is aborted
   */
  acquire(key: string, options?: AcquireOptions): Promise<Lease>
  /**
   * Tries once to acquire the lock. Null means that somebody holds it.
   *
   * @example
   * ```ts
   * await using turn = await locks.tryAcquire('refresh:7')
   * if (!turn) return
   * ```
   *
   * @throws everything that `acquire` throws, except AcquireTimeoutError
   */
  tryAcquire(key: string, options?: TryAcquireOptions): Promise<Lease | null>
  /**
   * Runs work under the lock and releases the lock whatever happens. Options come before the work, as in
   * `navigator.locks.request`.
   *
   * @example
   * ```ts
   * const total = await locks.withLock('coupon:42', { wait: '10s' }, async (lease) => {
   *   lease.assertValid()
   *   return issueCoupon({ fence: lease.fence, signal: lease.signal })
   * })
   * ```
   *
   * @throws the work's own error, which takes precedence over any other
   * @throws LeaseLostError if the lease was lost meanwhile; its `result` is what the work returned
   * @throws everything that `acquire` throws
   */
  withLock<T>(key: string, work: Work<T>): Promise<T>
  withLock<T>(key: string, options: AcquireOptions | undefined, work: Work<T>): Promise<T>
  /**
   * Binds a key and default options for its calls.
   *
   * @example
   * ```ts
   * const order = locks.for('order:1', { ttl: '5s' })
   * await order.withLock(ship)
   * ```
   *
   * @throws InvalidOptionError for a bad key or option
   */
  for(key: string, options?: AcquireOptions): KeyLocker
  /**
   * Returns who holds the lock now. By the time you read the result, it may be out of date.
   *
   * @example
   * ```ts
   * const state = await locks.inspect('order:1')
   * if (state.held) console.log(state.holder, state.expiresInMs)
   * ```
   *
   * @throws StoreUnavailableError if the store did not answer
   * @throws InvalidOptionError for a bad key
   * @throws LeaseholdError with code `CLOSED` once the locker is closed
   * @throws LeaseholdError with code `KIND_MISMATCH` if the key holds something that is not a lock
   */
  inspect(key: string): Promise<LockState>
  /**
   * Returns whether somebody holds the lock now. By the time you read the result, it may be out of date.
   *
   * @example
   * ```ts
   * const busy = await locks.isLocked('order:1')
   * ```
   *
   * @throws everything that `inspect` throws
   */
  isLocked(key: string): Promise<boolean>
  /**
   * Takes the lock away from its holder, as an operator does. Returns whether the lock was held. A holder in this
   * locker learns of the loss at once, unless it queued for the lock; any other holder at its next renewal. Its signal
   * then fires. The request is sent once. If no answer comes, it may or may not have been carried out, so check before
   * you repeat it.
   *
   * @example
   * ```ts
   * const wasHeld = await locks.revoke('order:1')
   * ```
   *
   * @throws StoreUnavailableError if the store did not answer
   * @throws InvalidOptionError for a bad key
   * @throws LeaseholdError with code `CLOSED` once the locker is closed
   * @throws LeaseholdError with code `KIND_MISMATCH` if the key holds something that is not a lock
   */
  revoke(key: string): Promise<boolean>
  /**
   * Refuses new calls and ends waits, both with code `CLOSED`. Running work may continue for `grace` (default 5 s).
   * Then `close` takes away the leases that are still held, whose signals fire with reason `closed`, and ends the
   * notifier's subscriptions. It is safe to call again.
   *
   * @example
   * ```ts
   * process.once('SIGTERM', () => void locks.close({ grace: '10s' }))
   * ```
   *
   * @throws InvalidOptionError for a bad grace
   */
  close(options?: { readonly grace?: Duration | undefined }): Promise<void>
}

/**
 * Makes a locker: one process's API for any number of locks in one store. It does no I/O, draws no randomness and sets
 * no timer, so you can call it at module scope, even on Workers.
 *
 * At most one holder has a lock at a time, in the store's own timeline. `docs/guarantees.md` says what is not promised, such as
 * a lock that survives an asynchronous failover.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store, notifier, name: 'orders-7', ttl: '10s' })
 * await locks.withLock('order:1', async (lease) => ship({ fence: lease.fence }))
 * ```
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
  const settings = callSettings(defaults)
  demandOption(!('signal' in defaults), 'signal', 'given to each call')

  const home = homeContext()
  const work = openWork(home, waitUntil)
  const background = clockWithin(clock, home)
  const parts = { store, notifier, clock, background, name, work, home, emit: emitter(onEvent) }
  const context: Context = { ...parts, calls: jointCalls(parts) }
  const queue = sharedQueue(context)
  const shared = { context, queue, jointRenewal: new Renewal(context, true), defaults }
  const on = (key: string, its = settings): KeyCalls => new KeyCalls(shared, key, its)
  const close = closing(context, queue)
  const locker: Locker = {
    acquire: (key, options) => on(key).acquire(options),
    tryAcquire: (key, options) => on(key).tryAcquire(options),
    withLock: <T>(key: string, first: AcquireOptions | Work<T> | undefined, second?: Work<T>): Promise<T> =>
      on(key).withLock(first as AcquireOptions, second as Work<T>),
    for(key, options) {
      checkKey(key)
      return on(key, callSettings(defaults, options))
    },
    inspect: (key) => on(key).inspect(),
    isLocked: (key) => on(key).isLocked(),
    revoke: (key) => on(key).revoke(),
    close,
    [Symbol.asyncDispose]: () => close(),
  }
  lockers.set(locker, shared)
  return locker
}

/** Makes the function that closes a locker. However often it is called, the locker closes once. */
function closing(
  { store, notifier, clock, work, emit }: Context,
  queue: () => { close(): void } | undefined,
): Locker['close'] {
  const stopListening = emit && notifier?.onStateChange(emit)
  let closed: Promise<void> | undefined
  return async (options = {}) => {
    demandObject(options)
    const graceMs = parseDuration('grace', options.grace ?? 5_000, 0)
    queue()?.close()
    closed ??= work.close(clock, graceMs, store.commandDeadlineMs).then(() => {
      stopListening?.()
      return notifier?.close()
    })
    work.handOver(closed)
    return closed
  }
}
