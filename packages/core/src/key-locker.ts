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
import { type AcquireOptions, type Plan, planFor } from './options.ts'
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

/** The arguments of `withLock` after the key: options may come before the work. */
export type Given<T> = [work: Work<T>] | [options: AcquireOptions | undefined, work: Work<T>]

/** The answer of a store to a question about one key. */
type Answered<Q extends 'inspect' | 'revoke'> = Exclude<Awaited<ReturnType<LeaseStore[Q]>>, Unknown | Refused>

/**
 * Makes the function that makes the calls for a key.
 *
 * @param queue answers the waiters of this process, or none where calls share nothing; asked at each call
 */
export function keyLockers(
  context: Context,
  defaults: AcquireOptions,
  queue: () => LocalQueue | undefined,
): (key: string, bound?: AcquireOptions) => KeyLocker {
  const { clock, emit, home, store, work } = context
  /** Renews all leases where calls may share a timer. */
  const jointRenewal = new Renewal(context)

  const attempt = (plan: Plan): Promise<Acquired> => queue()?.acquire(plan) ?? acquireAlone(context, plan)

  /** Makes the caller's lease of a grant. */
  function leased(plan: Plan, grant: Grant, acquired: Acquired): HeldLease {
    const successors = queue()
    const renewal = successors ? jointRenewal : new Renewal(context)
    const lease = new HeldLease(context, renewal, successors, grant, acquired)
    if (plan.signal?.aborted) {
      // The caller gave up at the very moment of the grant, and will not use the lease.
      work.background(() => lease.release())
      throw plan.signal.reason
    }
    if (!lease.lostBecause) renewal.watch(grant, plan)
    const { key, fence, waitedMs, commands } = lease
    emit({ type: 'acquired', key, fence, waitedMs, commands })
    return lease
  }

  /** @param ifHeld answers for the call if its time is over and the lock was not granted */
  async function waitFor<N>(plan: Plan, ifHeld: (acquired: Acquired) => N): Promise<HeldLease | N> {
    const { key, signal } = plan
    const since = instant(clock)
    try {
      const acquired = await attempt(plan)
      return acquired.grant ? leased(plan, acquired.grant, acquired) : ifHeld(acquired)
    } catch (error) {
      const isAborted = error === signal?.reason
      // An error made by a timer, or while a reply was read, gets the stack of this call, which shows who made the call.
      const cause = isAborted ? error : about(key, error)
      const reason = isAborted ? 'aborted' : failureOf(cause)
      const { commands } = plan
      if (reason) emit({ type: 'acquire-failed', key, reason, waitedMs: waitedMs(clock, since), commands, cause })
      throw cause
    }
  }

  async function query<Q extends 'inspect' | 'revoke'>(action: Q, key: string): Promise<Answered<Q>> {
    checkKey(key)
    work.assertOpen()
    // A question may be repeated. A revocation may not: if its answer was lost, a repeat would hit a successor.
    const once = action === 'revoke'
    const { outcome, before } = await ask<unknown>(context, Infinity, (call) => store[action](key, call), { once })
    return answered(action, key, outcome as Answered<Q>, before)
  }

  return (key, bound) => {
    /** Rejects for bad options. It is not async, because an async function would retain its options while the call waits. */
    const acquire = (options?: AcquireOptions): Promise<HeldLease> => {
      try {
        const plan = planFor(key, defaults, bound, options)
        return waitFor(plan, (acquired) => {
          throw new AcquireTimeoutError(key, acquired, plan)
        })
      } catch (error) {
        return Promise.reject(error)
      }
    }
    const inspect = async (): Promise<LockState> => (await query('inspect', key)).state

    return {
      acquire,
      async tryAcquire(options?: AcquireOptions) {
        const plan = planFor(key, defaults, bound, options, { wait: 0 })
        for (const name of waitingOnly) {
          if (options?.[name] !== undefined)
            throw new InvalidOptionError(name, 'is not for tryAcquire, which does not wait')
        }
        return waitFor(plan, () => null)
      },
      async withLock<T>(...given: Given<T>) {
        const work = given.pop() as Work<T>
        demandOption(typeof work === 'function', 'work', 'a function', work)
        return withLease(clock, await acquire(given[0] as AcquireOptions), work)
      },
      inspect,
      isLocked: async () => (await inspect()).held,
      async revoke() {
        const present = queue()?.holding(key)
        const revoked = (await query('revoke', key)).type === 'revoked'
        // A holder in this process learns of it at once, without waiting for its next renewal.
        if (revoked && present) void home(() => present.lose('gone'))
        return revoked
      },
    }
  }
}

const waitingOnly = ['wait', 'recheck', 'strategy', 'budget'] as const
