import { type Acquired, acquireAlone } from './acquire/acquisition.ts'
import type { Context } from './context.ts'
import { AcquireTimeoutError, about, demandOption, InvalidOptionError } from './errors.ts'
import { failureOf } from './events.ts'
import type { Grant } from './lease/grant.ts'
import { HeldLease } from './lease/held-lease.ts'
import type { Lease, Work } from './lease/lease.ts'
import { Renewal } from './lease/renewal.ts'
import { withLease } from './lease/with-lease.ts'
import type { LocalQueue } from './local-queue/local-queue.ts'
import { type AcquireOptions, type CallSettings, type Plan, planFor } from './options.ts'
import { answered } from './store/answered.ts'
import { ask } from './store/ask.ts'
import { checkKey } from './store/key.ts'
import type { LeaseStore, LockState, Refused, Unknown } from './store/lease-store.ts'
import { instant, waitedMs } from './timing/validity.ts'

/** The options of `tryAcquire`, which does not wait. */
export type TryAcquireOptions = Pick<
  AcquireOptions,
  'ttl' | 'signal' | 'renew' | 'maxHold' | 'minValidity' | 'longHeld'
>

/** What follows the key in `withLock`: the work, and options before it if there are any. */
export type WithLockArguments<T> = [work: Work<T>] | [options: AcquireOptions | undefined, work: Work<T>]

/** The calls of a locker for one key. Each does what the same call of `Locker` does. Making one is cheap: it holds no state. */
export interface KeyLocker {
  acquire(options?: AcquireOptions): Promise<Lease>
  tryAcquire(options?: TryAcquireOptions): Promise<Lease | null>
  withLock<T>(work: Work<T>): Promise<T>
  withLock<T>(options: AcquireOptions | undefined, work: Work<T>): Promise<T>
  inspect(): Promise<LockState>
  isLocked(): Promise<boolean>
  revoke(): Promise<boolean>
}

/** The answer of a store to a question about one key. */
type Answered<Q extends 'inspect' | 'revoke'> = Exclude<Awaited<ReturnType<LeaseStore[Q]>>, Unknown | Refused>

/**
 * The calls of one locker, for any key. `settings` are those of the locker, or of a key that is bound.
 */
export class LockCalls {
  readonly #context: Context
  readonly #queue: () => LocalQueue | undefined
  /** Renews all leases where calls may share a timer. */
  readonly #jointRenewal: Renewal

  /** @param queue answers the waiters of this process, or none where calls share nothing; asked at each call */
  constructor(context: Context, queue: () => LocalQueue | undefined) {
    this.#context = context
    this.#queue = queue
    this.#jointRenewal = new Renewal(context)
  }

  /** Rejects for bad options. It is not async, because an async function would retain its options while the call waits. */
  acquire(key: string, settings: CallSettings, options?: AcquireOptions): Promise<HeldLease> {
    try {
      return this.#waitFor(planFor(key, settings(options)), timedOut)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async tryAcquire(key: string, settings: CallSettings, options?: TryAcquireOptions): Promise<HeldLease | null> {
    const plan = planFor(key, settings(options), 0)
    for (const name of waitingOnly) {
      if ((options as AcquireOptions | undefined)?.[name] !== undefined)
        throw new InvalidOptionError(name, 'is not for tryAcquire, which does not wait')
    }
    return this.#waitFor(plan, () => null)
  }

  /** @param rest the work, and the options before it if there are any */
  withLock<T>(key: string, settings: CallSettings, ...rest: WithLockArguments<T>): Promise<T> {
    const work = rest.pop() as Work<T>
    try {
      demandOption(typeof work === 'function', 'work', 'a function', work)
    } catch (error) {
      return Promise.reject(error)
    }
    return withLease(this.#context.clock, this.acquire(key, settings, rest[0] as AcquireOptions | undefined), work)
  }

  async inspect(key: string): Promise<LockState> {
    return (await this.#query('inspect', key)).state
  }

  async isLocked(key: string): Promise<boolean> {
    return (await this.inspect(key)).held
  }

  async revoke(key: string): Promise<boolean> {
    const present = this.#queue()?.holding(key)
    const revoked = (await this.#query('revoke', key)).type === 'revoked'
    // A holder in this process learns of it at once, without waiting for its next renewal.
    if (revoked && present) void this.#context.home(() => present.lose('gone'))
    return revoked
  }

  /** The calls for one key. */
  on(key: string, settings: CallSettings): KeyLocker {
    return {
      acquire: (options) => this.acquire(key, settings, options),
      tryAcquire: (options) => this.tryAcquire(key, settings, options),
      withLock: <T>(...rest: WithLockArguments<T>) => this.withLock(key, settings, ...rest),
      inspect: () => this.inspect(key),
      isLocked: () => this.isLocked(key),
      revoke: () => this.revoke(key),
    }
  }

  /** @param ifHeld answers for the call if its time is over and the lock was not granted */
  async #waitFor<N>(plan: Plan, ifHeld: (plan: Plan, acquired: Acquired) => N): Promise<HeldLease | N> {
    const { key, signal } = plan
    const { clock, emit } = this.#context
    const since = instant(clock)
    try {
      const acquired = await (this.#queue()?.acquire(plan, since) ?? acquireAlone(this.#context, plan, since))
      return acquired.grant ? this.#leased(plan, acquired.grant, acquired) : ifHeld(plan, acquired)
    } catch (error) {
      const isAborted = error === signal?.reason
      // An error made by a timer, or while a reply was read, gets the stack of this call, which shows who made the call.
      const cause = isAborted ? error : about(key, error)
      const reason = isAborted ? 'aborted' : failureOf(cause)
      const { commands } = plan
      if (reason) emit?.({ type: 'acquire-failed', key, reason, waitedMs: waitedMs(clock, since), commands, cause })
      throw cause
    }
  }

  /** Makes the caller's lease of a grant. */
  #leased(plan: Plan, grant: Grant, acquired: Acquired): HeldLease {
    const context = this.#context
    const successors = this.#queue()
    const renewal = successors ? this.#jointRenewal : new Renewal(context)
    const lease = new HeldLease(context, renewal, successors, grant, acquired)
    if (plan.signal?.aborted) {
      // The caller gave up at the very moment of the grant, and will not use the lease.
      context.work.background(() => lease.release())
      throw plan.signal.reason
    }
    if (!lease.lostBecause) renewal.watch(grant, plan)
    const { key, fence, waitedMs, commands } = lease
    context.emit?.({ type: 'acquired', key, fence, waitedMs, commands })
    return lease
  }

  async #query<Q extends 'inspect' | 'revoke'>(action: Q, key: string): Promise<Answered<Q>> {
    const { store, work } = this.#context
    checkKey(key)
    work.assertOpen()
    // A question may be repeated. A revocation may not: if its answer was lost, a repeat would hit a successor.
    const { outcome, before } = await ask<unknown>(this.#context, Infinity, {
      once: action === 'revoke',
      send: (attempt) => attempt.follow(store[action](key, attempt)),
    })
    return answered(action, key, outcome as Answered<Q>, before)
  }
}

function timedOut(plan: Plan, acquired: Acquired): never {
  throw new AcquireTimeoutError(plan.key, acquired, plan)
}

const waitingOnly = ['wait', 'recheck', 'strategy', 'budget'] as const
