import type { Context } from '../context.ts'
import type { Executed } from '../errors.ts'
import { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import { answered, unanswered } from '../store/answered.ts'
import { commandDeadlineMs, type Quiet } from '../store/ask.ts'
import type { Unknown } from '../store/lease-store.ts'
import { sleep } from '../timing/deadline.ts'
import { elapsedMs, type Instant, instant, waitedMs } from '../timing/validity.ts'
import { floorMs } from '../waiting/pacing.ts'
import { pollingWaiter } from '../waiting/polling-waiter.ts'
import { beginClaim, type Claim, type TryOutcome } from './claim.ts'
import { longestVainPauseMs } from './figures.ts'

/** How an acquire ended. Without a grant its time or budget was over, and the store had answered to the end. */
export interface Acquired {
  readonly grant: Grant | undefined
  /** Whole milliseconds. */
  readonly waitedMs: number
  readonly commands: number
  /** How many grants came with too little validity left, and were given back. */
  readonly lateGrants: number
  /** Without a grant: the name of who had the lock when it was last seen, null if that has none or nobody was seen. */
  readonly holder?: string | null
  /** Without a grant: whether one of this locker has the lock, as far as that is known. */
  readonly heldHere?: boolean
}

/**
 * What is known of a lock after a try that brought no lease.
 *
 * - `held`: somebody has it
 * - `late`: it was granted with too little validity left, or came and went unseen, and was given back
 * - an unknown outcome: the store did not answer
 */
export type Finding = 'held' | 'late' | Unknown

/** What is known of one lock: one object for all who ask for it together. */
export interface Knowledge extends Quiet {
  /** What the last try that brought no lease has found. */
  finding: Finding | undefined
  /** How many grants had come too late for the call that made that try. */
  lateGrants: number
  /** The name of the holder that was last seen, null if it has none. */
  holder: string | null
}

/**
 * The end of a wait in vain: somebody has the lock, or each grant came too late.
 *
 * @throws StoreUnavailableError if that cannot be said, because the store has fallen silent since
 */
export function assertAnswered(finding: Finding | undefined, executed: Executed): void {
  if (typeof finding !== 'string') throw unanswered('acquire', { type: 'unknown', ...finding, executed })
}

export const nothingKnown = (): Knowledge => ({
  finding: undefined,
  lateGrants: 0,
  holder: null,
  quietUntilMs: 0,
})

/** How an acquire goes about it. */
export interface Terms {
  /** When its wait began. */
  readonly since: Instant
  /** Consecutive fences to reserve with the grant. */
  readonly fences: number
  /** Heeded and kept up to date. */
  readonly known: Knowledge
  /** Whether it has been told already that somebody has the lock. */
  readonly toldContended?: boolean
  /** Something was found that brings no lease. */
  onFinding?(finding: Finding): void
}

/** An acquire on its way. */
export interface Acquisition {
  /**
   * To be called once.
   *
   * @throws StoreUnavailableError when the store did not answer, or no longer
   * @throws the store's error when it refuses for good
   * @throws LeaseholdError with code `CLOSED`, at once, when the locker is closed
   * @throws the plan's signal's own reason, at once, when that is aborted
   */
  run(): Promise<Acquired>
  /** Ends the pause of a waiter, though not the one after a try in vain: somebody here knows that a try is worth it. */
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
  const { since, fences, known } = terms
  /** What this acquire has found itself; at first, what others had. */
  let { finding } = known
  const waiter = notifier?.waiter(clock, plan) ?? pollingWaiter(clock, plan)
  let { toldContended } = terms
  let lateGrants = 0
  /** Tries in a row that brought neither a lease nor anything to wait for. */
  let vain = 0
  /** Whether a request of this acquire may have been carried out without an answer. */
  let executed: Executed = 'no'

  const wake = (): void => waiter.wake()

  const begin = (): Claim => beginClaim(context, { key, ttlMs, fences }, known, () => plan.commands++, learn, wake)
  let claim = begin()

  // A spent budget ends the wait just as the deadline does.
  const leftMs = (): number =>
    plan.commands < budget ? (waitMs || commandDeadlineMs(context, ttlMs)) - elapsedMs(instant(clock), since) : 0

  const ended = (grant?: Grant): Acquired => ({
    grant,
    waitedMs: waitedMs(clock, since),
    commands: plan.commands,
    lateGrants,
    holder: known.holder,
  })

  function learn(found: Finding): void {
    finding = found
    known.finding = found
    known.lateGrants = lateGrants
    terms.onFinding?.(found)
    if (found === 'held' && !toldContended) {
      toldContended = true
      context.emit({ type: 'contended', key })
    }
  }

  /** Learns from a try that brought no lease, and pauses. Answers whether another try is worth it. */
  async function heed(outcome: TryOutcome, signal: AbortSignal): Promise<boolean> {
    if (outcome.type === 'unknown') {
      // Cut short by the end of the wait it says nothing of the store, unless there is nothing else to say.
      if (typeof finding !== 'string') learn({ ...finding, ...outcome })
      else if (leftMs() > 1) learn(outcome)
      return false
    }
    if (outcome.type === 'held') {
      vain = 0
      known.holder = outcome.holder
      learn('held')
      if (waitMs > 0 && leftMs() > 1) await waiter.pause(outcome, leftMs, signal)
      // One try is enough for who does not wait.
      return waitMs > 0
    }
    if (answered('acquire', key, outcome, executed).type !== 'state') {
      // The grant came too late, or went unseen. The store would tell this acquisition id from now on that its grant is spent.
      claim.abandon()
      claim = begin()
      lateGrants++
      learn('late')
    }
    // Nothing says when the next try is worth it. The holder we see may be this acquire itself, by a try without an answer.
    await sleep(clock, Math.min(floorMs(vain++, longestVainPauseMs), leftMs()), signal)
    return true
  }

  async function run(signal: AbortSignal): Promise<Acquired> {
    try {
      for (;;) {
        const { outcome, sentAt, before } = await claim.attempt(leftMs, signal)
        if (before === 'unknown') executed = before
        if (outcome.type === 'granted') {
          waiter.granted?.()
          const grant = new Grant(clock, key, outcome.token, outcome.fence, { sentAt, ttlMs })
          if (grant.remainingMs() >= minValidityMs) {
            claim.accept(grant.token)
            return ended(grant)
          }
        }
        if ((await heed(outcome, signal)) && leftMs() > 1) continue
        assertAnswered(finding, executed)
        return ended()
      }
    } finally {
      waiter.close()
      claim.abandon()
    }
  }

  return { run: () => context.work.wait(plan.signal, run), wake }
}

/** An acquire that knows of no other call of its process. */
export function acquireAlone(context: Context, plan: Plan, fences = 1): Promise<Acquired> {
  return acquisition(context, plan, { since: instant(context.clock), fences, known: nothingKnown() }).run()
}
