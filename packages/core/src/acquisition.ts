import { answered, commandDeadlineMs, unanswered } from './ask.ts'
import { beginClaim, type Claim } from './claim.ts'
import type { Context } from './context.ts'
import type { Executed } from './errors.ts'
import { longestLatePauseMs } from './figures.ts'
import { Grant } from './grant.ts'
import type { Unknown } from './lease-store.ts'
import type { Plan } from './options.ts'
import { deadline, sleep } from './timing/deadline.ts'
import { elapsedMs, instant } from './timing/validity.ts'
import { unaidedWaiter } from './unaided-waiter.ts'
import { floorMs } from './waiter.ts'

/** How an acquire ended. Without a grant its time or budget was over, and the store had answered to the end. */
export interface Acquired {
  readonly grant: Grant | undefined
  readonly waitedMs: number
  readonly commands: number
  /** How many grants came with too little validity left, and were given back. */
  readonly lateGrants: number
}

/**
 * What a try came to that was not granted.
 *
 * - `held`: somebody has the lock
 * - `late`: it was granted with too little validity left, and given back
 * - an unknown outcome: it stayed without an answer
 */
export type TryResult = 'held' | 'late' | Unknown

/** How an acquire goes about it. */
export interface Terms {
  /** What is left of the wait, in milliseconds; by default the plan's wait begins now. */
  readonly leftMs?: () => number
  /** Consecutive fences to reserve with the grant; by default 1. */
  readonly fences?: number
  /** What is known of the lock before the first try. */
  readonly known?: TryResult | undefined
  /** Whether it has been told already that somebody has the lock. */
  readonly toldContended?: boolean
  /** Told what each try came to that was not granted. */
  onTry?(result: TryResult): void
}

/** An acquire on its way. */
export interface Acquisition {
  /**
   * To be called once.
   *
   * @throws the signal's own reason when it is aborted, at once · StoreUnavailableError when the store did not answer, or no
   *   longer · the store's error when it refuses for good
   */
  run(signal: AbortSignal): Promise<Acquired>
  /** Ends the present pause: somebody in this process knows that a try is worth it. */
  wake(): void
}

/**
 * Tries, waits and tries again, until the lock is granted or the plan's wait is over. Without a wait there is one try,
 * repeated only while it stays unanswered.
 *
 * The last answer decides what the end of the wait means: once the store has fallen silent since, nobody can say that
 * the lock is held.
 */
export function acquisition(context: Context, plan: Plan, terms: Terms): Acquisition {
  const { clock, notifier } = context
  const { key, ttlMs, waitMs, minValidityMs, budget } = plan
  const { fences = 1, onTry } = terms
  let { known, toldContended } = terms
  const startedAt = instant(clock)
  const timeLeftMs = terms.leftMs ?? deadline(clock, waitMs || commandDeadlineMs(context, ttlMs))
  const waiter = notifier?.waiter(clock, plan) ?? unaidedWaiter(clock, plan)
  const wake = (): void => waiter.wake()
  let commands = 0
  let lateGrants = 0
  /** Whether a request of this acquire may have been carried out without an answer. */
  let executed: Executed = 'no'

  // A spent budget ends the wait just as the deadline does.
  const leftMs = (): number => (commands < budget ? timeLeftMs() : 0)
  const begin = (): Claim => beginClaim(context, { key, ttlMs, fences }, () => commands++, learn, wake)
  const ended = (grant?: Grant): Acquired => ({
    grant,
    waitedMs: elapsedMs(instant(clock), startedAt),
    commands,
    lateGrants,
  })

  function learn(result: TryResult): void {
    known = result
    onTry?.(result)
    if (result === 'held' && !toldContended) {
      toldContended = true
      context.emit({ type: 'contended', key })
    }
  }

  async function run(signal: AbortSignal): Promise<Acquired> {
    let claim = begin()
    try {
      for (;;) {
        const { outcome, sentAt, before } = await claim.attempt(leftMs, signal)
        if (before === 'unknown') executed = before
        if (outcome.type === 'granted') {
          waiter.granted?.()
          const grant = new Grant(clock, key, outcome.token, outcome.fence, { sentAt, ttlMs })
          if (grant.remainingMs() >= minValidityMs) {
            claim.accept()
            return ended(grant)
          }
        }
        if (outcome.type === 'granted' || outcome.type === 'spent') {
          // It came too late to be of use, or went unseen: from now on its owner would be told that its grant is spent.
          claim.abandon()
          claim = begin()
          learn('late')
          await sleep(clock, Math.min(floorMs(lateGrants++, longestLatePauseMs), leftMs()), signal)
        } else if (outcome.type === 'unknown') {
          // Cut short by the end of the wait it says nothing of the store, unless there is nothing else to say.
          if (!known) learn(outcome)
        } else if (outcome.type === 'refused') {
          answered('acquire', outcome, executed)
        } else if (outcome.type === 'held' || outcome.state.held) {
          learn('held')
          if (outcome.type === 'held' && waitMs > 0 && leftMs() > 1) await waiter.pause(outcome, leftMs, signal)
        }
        // One try is enough for who does not wait.
        if (leftMs() > 1 && (waitMs > 0 || outcome.type !== 'held')) continue
        if (typeof known === 'string') return ended()
        throw unanswered('acquire', { type: 'unknown', ...known, executed })
      }
    } finally {
      waiter.close()
      claim.abandon()
    }
  }

  return { run, wake }
}

/** An acquire that knows of no other call of its process. */
export function acquireAlone(context: Context, plan: Plan, fences = 1): Promise<Acquired> {
  return context.work.wait(plan.signal, (signal) => acquisition(context, plan, { fences }).run(signal))
}
