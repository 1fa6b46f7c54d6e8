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

/** What may be said to `tryAcquire`, which does not wait. */
export type TryAcquireOptions = Pick<
  AcquireOptions,
  'ttl' | 'signal' | 'renew' | 'maxHold' | 'minValidity' | 'longHeld'
>

/** The calls of a locker for one key, each as that of `Locker`. It holds no state, so there is no pool of them to size. */
export interface KeyLocker {
  acquire(options?: AcquireOptions): Promise<Lease>
  tryAcquire(options?: TryAcquireOptions): Promise<Lease | null>
  withLock<T>(work: Work<T>): Promise<T>
  withLock<T>(options: AcquireOptions | undefined, work: Work<T>): Promise<T>
  inspect(): Promise<LockState>
  isLocked(): Promise<boolean>
  revoke(): Promise<boolean>
}

/** What `withLock` is given: options may stand before the work. */
export type Given<T> = [work: Work<T>] | [options: AcquireOptions | undefined, work: Work<T>]

/** What a store answers to a question about one key. */
type Answered<Q extends 'inspect' | 'revoke'> = Exclude<Awaited<ReturnType<LeaseStore[Q]>>, Unknown | Refused>

/**
 * What the calls for any key are made with.
 *
 * @param queue the waiters of this process, where calls share them: asked at each call
 */
export function keyLockers(
  context: Context,
  defaults: AcquireOptions,
  queue: () => LocalQueue | undefined,
): (key: string, bound?: AcquireOptions) => KeyLocker {
  const { clock, emit, home, store, work } = context
  /** Renews all leases, where calls share a timer. */
  const jointRenewal = new Renewal(context)

  const attempt = (plan: Plan): Promise<Acquired> => queue()?.acquire(plan) ?? acquireAlone(context, plan)

  /** What the caller gets of a grant. */
  function leased(plan: Plan, grant: Grant, acquired: Acquired): HeldLease {
    const successors = queue()
    const renewal = successors ? jointRenewal : new Renewal(context)
    const lease = new HeldLease(context, renewal, successors, grant, acquired)
    if (plan.signal?.aborted) {
      // The caller gave up in the very moment of the grant and will not check it.
      work.background(() => lease.release())
      throw plan.signal.reason
    }
    if (!lease.lostBecause) renewal.watch(grant, plan)
    const { key, fence, waitedMs, commands } = lease
    emit({ type: 'acquired', key, fence, waitedMs, commands })
    return lease
  }

  /** @param ifHeld what comes of it when the time is over and somebody else has the lock */
  async function waitFor<N>(plan: Plan, ifHeld: (acquired: Acquired) => N): Promise<HeldLease | N> {
    const { key, signal } = plan
    const since = instant(clock)
    try {
      const acquired = await attempt(plan)
      return acquired.grant ? leased(plan, acquired.grant, acquired) : ifHeld(acquired)
    } catch (error) {
      const isAborted = error === signal?.reason
      // An error made while a reply was read, or by a timer, gets the stack of this call: that shows who made it.
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
    // A question may be repeated; a revocation may not: the repeat of one whose answer was lost would hit a successor.
    const once = action === 'revoke'
    const { outcome, before } = await ask<unknown>(context, Infinity, (call) => store[action](key, call), { once })
    return answered(action, key, outcome as Answered<Q>, before)
  }

  return (key, bound) => {
    /** Rejects for bad options. Not an async function, which would keep its options for as long as the call waits. */
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
        // A holder of this process need not wait for its next renewal to learn it.
        if (revoked && present) void home(() => present.lose('gone'))
        return revoked
      },
    }
  }
}

const waitingOnly = ['wait', 'recheck', 'strategy', 'budget'] as const
