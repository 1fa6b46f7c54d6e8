import { lockers } from '#beside'
import { acquireAlone } from './acquire/acquire-alone.ts'
import type { Acquired } from './acquire/acquisition.ts'
import type { Context } from './context.ts'
import { AcquireTimeoutError, about, demandOption, InvalidOptionError } from './errors.ts'
import { failureOf } from './events.ts'
import type { Grant } from './lease/grant.ts'
import { HeldLease } from './lease/held-lease.ts'
import type { Lease, Work } from './lease/lease.ts'
import { type Watch, watchFor } from './lease/watch.ts'
import { withLease } from './lease/with-lease.ts'
import type { LocalQueue } from './local-queue/local-queue.ts'
import { type AcquireOptions, type CallSettings, type Plan, planFor, type Queue } from './options.ts'
import { answered } from './store/answered.ts'
import { ask } from './store/ask.ts'
import { checkKey } from './store/key.ts'
import type { LeaseStore, LockState, Refused, Unknown } from './store/lease-store.ts'
import { type Instant, instant, waitedMs } from './timing/validity.ts'

/** The options of `tryAcquire`, which does not wait. */
export type TryAcquireOptions = Pick<
  AcquireOptions,
  'ttl' | 'signal' | 'renew' | 'maxHold' | 'minValidity' | 'longHeld' | 'queue'
>

/** A store's answer to a query about one key. */
type Answered<Q extends 'inspect' | 'revoke'> = Exclude<Awaited<ReturnType<LeaseStore[Q]>>, Unknown | Refused>

/** State that the calls of one locker share. */
export interface Shared {
  readonly context: Context
  /** Returns the waiters of this process; undefined where calls share nothing. Asked at each call. */
  readonly queue: () => LocalQueue | undefined
  /** Renews all leases where calls may share a timer. */
  readonly jointRenewal: Watch
  /** The locker's default options for each call. */
  readonly defaults: AcquireOptions
}

/** A `Queue` as core sees it. */
export interface QueueMaker extends Queue {
  readonly sharedFor: (shared: Shared) => Shared
}

/** The shared state of a locker, for capabilities that are imported separately. */
export const sharedOf = (locks: object): Shared | undefined => lockers.get(locks) as Shared | undefined

/** A locker's calls for one key. Each does what the same call of `Locker` does. Cheap to make: it holds no state. */
export interface KeyLocker {
  acquire(options?: AcquireOptions): Promise<Lease>
  tryAcquire(options?: TryAcquireOptions): Promise<Lease | null>
  withLock<T>(work: Work<T>): Promise<T>
  withLock<T>(options: AcquireOptions | undefined, work: Work<T>): Promise<T>
  inspect(): Promise<LockState>
  isLocked(): Promise<boolean>
  revoke(): Promise<boolean>
}

/** Implements the calls for one key. */
export class KeyCalls implements KeyLocker {
  readonly #shared: Shared
  readonly #key: string
  readonly #settings: CallSettings

  constructor(shared: Shared, key: string, settings: CallSettings) {
    this.#shared = shared
    this.#key = key
    this.#settings = settings
  }

  /** Rejects on bad options. Not async, because an async function would retain its options while the call waits. */
  acquire(options?: AcquireOptions): Promise<Lease> {
    return this.#acquire(options)
  }

  async tryAcquire(options?: TryAcquireOptions): Promise<Lease | null> {
    const plan = planFor(this.#key, this.#settings(options), 0)
    refuseWaiting(options)
    return this.#waitFor(plan, () => null)
  }

  withLock<T>(work: Work<T>): Promise<T>
  withLock<T>(options: AcquireOptions | undefined, work: Work<T>): Promise<T>
  withLock<T>(first: AcquireOptions | Work<T> | undefined, second?: Work<T>): Promise<T> {
    const isAlone = second === undefined && typeof first === 'function'
    const work = (isAlone ? first : second) as Work<T>
    const acquiring = this.#acquire(isAlone ? undefined : (first as AcquireOptions), typeof work === 'function')
    return withLease(this.#shared.context.clock, acquiring, work)
  }

  async inspect(): Promise<LockState> {
    return (await this.#query('inspect')).state
  }

  async isLocked(): Promise<boolean> {
    return (await this.inspect()).held
  }

  async revoke(): Promise<boolean> {
    const { context, queue } = this.#shared
    const present = queue()?.holding(this.#key)
    const revoked = (await this.#query('revoke')).type === 'revoked'
    // A holder in this process learns of it at once, without waiting for its next renewal.
    if (revoked && present) void context.home(() => present.lose('gone'))
    return revoked
  }

  #acquire(options: AcquireOptions | undefined, hasWork = true): Promise<HeldLease> {
    try {
      demandOption(hasWork, 'work', 'a function')
      return this.#waitFor(planFor(this.#key, this.#settings(options)), timedOut)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** @param ifHeld makes the result, or throws, if time is up and the lock was not granted */
  async #waitFor<N>(plan: Plan, ifHeld: (plan: Plan, acquired: Acquired) => N): Promise<HeldLease | N> {
    const shared = (plan.queue as QueueMaker | undefined)?.sharedFor(this.#shared) ?? this.#shared
    const { context, queue } = shared
    const since = instant(context.clock)
    const line = queue()
    try {
      const acquired = await (line?.acquire(plan, since) ?? acquireAlone(context, plan, since))
      return acquired.grant ? leased(shared, plan, acquired.grant, acquired, line) : ifHeld(plan, acquired)
    } catch (error) {
      failedCall(context, plan, since, error)
    }
  }

  async #query<Q extends 'inspect' | 'revoke'>(action: Q): Promise<Answered<Q>> {
    const { context } = this.#shared
    const key = this.#key
    const { store, work } = context
    checkKey(key)
    work.assertOpen()
    // An inspection may be repeated. A revocation may not: if its answer was lost, a repeat would hit a successor.
    const { outcome, before } = await ask<unknown>(context, Infinity, {
      once: action === 'revoke',
      send: (attempt) => attempt.follow(store[action](key, attempt)),
    })
    return answered(action, key, outcome as Answered<Q>, before)
  }
}

/** Makes the caller's lease from a grant. */
function leased(
  { context, jointRenewal }: Shared,
  plan: Plan,
  grant: Grant,
  acquired: Acquired,
  successors: LocalQueue | undefined,
): HeldLease {
  const watch = watchFor(context, plan, successors && jointRenewal)
  const lease = new HeldLease(context, watch, successors, grant, acquired)
  if (plan.signal?.aborted) {
    // The caller gave up at the very moment of the grant and will not use the lease.
    context.work.background(() => lease.release())
    throw plan.signal.reason
  }
  if (!lease.lostBecause) watch.watch(grant, plan, acquired.at)
  const { key, fence, waitedMs, commands } = lease
  context.emit?.({ type: 'acquired', key, fence, waitedMs, commands })
  return lease
}

/** Reports a call that ends with an error, and throws what the call rejects with. */
export function failedCall({ clock, emit }: Context, plan: Plan, since: Instant, error: unknown): never {
  const { key, signal } = plan
  const isAborted = error === signal?.reason
  // An error made in a timer or while a reply was read gets the stack of this call, which shows who made the call.
  const cause = isAborted ? error : about(key, error)
  const reason = isAborted ? 'aborted' : failureOf(cause)
  const { commands } = plan
  if (reason) emit?.({ type: 'acquire-failed', key, reason, waitedMs: waitedMs(clock, since), commands, cause })
  throw cause
}

function timedOut(plan: Plan, acquired: Acquired): never {
  throw new AcquireTimeoutError(plan.key, acquired, plan)
}

/** @throws InvalidOptionError for an option that only applies to calls that wait */
export function refuseWaiting(options: AcquireOptions | undefined): void {
  for (const name of waitingOnly) {
    if (options?.[name] !== undefined) throw new InvalidOptionError(name, 'is not for a call that does not wait')
  }
}

const waitingOnly = ['wait', 'recheck', 'strategy', 'budget'] as const
