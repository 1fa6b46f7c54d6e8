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

/** How an acquire ended. Without a grant, its wait or budget was over, and the store had answered until then. */
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
 * - `late`: it was granted with too little validity left, or the grant came and went unseen; the grant was given back
 * - an unknown outcome: the store did not answer
 */
export type Finding = 'held' | 'late' | Unknown

/** What is known of one lock. All calls that wait for it together share one object. */
export interface Knowledge extends Quiet {
  /** What the last try that brought no lease found. */
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

/** What an acquire needs besides its plan. */
export interface Terms {
  /** When its wait began. */
  readonly since: Instant
  /** Consecutive fences to reserve with the grant. */
  readonly fences: number
  /** Read and kept up to date. */
  readonly known: Knowledge
  /** Whether its event `contended` has been emitted already. */
  readonly toldContended?: boolean
  /** Called after each try that brought no lease. */
  onFinding?(finding: Finding): void
}

/** An acquire under way. */
export interface Acquisition {
  /**
   * Call it once.
   *
   * @throws StoreUnavailableError when the store did not answer, or stopped answering
   * @throws the store's error when it refuses for good
   * @throws LeaseholdError with code `CLOSED`, at once, when the locker is closed
   * @throws the plan's signal's own reason, at once, when that is aborted
   */
  run(): Promise<Acquired>
  /**
   * Somebody in this process knows that a try is worth it. Ends the pause after a contended try, but not the pause after a try
   * that brought neither a lease nor anything to wait for.
   */
  wake(): void
}

/**
 * Tries, waits and tries again, until the lock is granted or the plan's wait is over. A plan without a wait makes one try,
 * which is repeated only while it stays unanswered.
 *
 * The last finding decides what the end of the wait means. If the store has fallen silent since its last answer, nobody can say
 * that the lock is still held.
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
  /** How many tries in a row brought neither a lease nor anything to wait for. */
  let vain = 0
  /** `unknown` once an unanswered request of this acquire may have been carried out. */
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
  async function handle(outcome: TryOutcome, signal: AbortSignal): Promise<boolean> {
    if (outcome.type === 'unknown') {
      // A try cut short by the end of the wait says nothing of the store. It counts only if nothing else is known.
      if (typeof finding !== 'string') learn({ ...finding, ...outcome })
      else if (leftMs() > 1) learn(outcome)
      return false
    }
    if (outcome.type === 'held') {
      vain = 0
      known.holder = outcome.holder
      learn('held')
      if (waitMs > 0 && leftMs() > 1) await waiter.pause(outcome, leftMs, signal)
      // A call that does not wait makes one try.
      return waitMs > 0
    }
    if (answered('acquire', key, outcome, executed).type !== 'state') {
      // The grant came too late, or came and went unseen. Once it is given back, the store answers this acquisition id with
      // `spent`, so the next try needs a new one.
      claim.abandon()
      claim = begin()
      lateGrants++
      learn('late')
    }
    // Nothing says when a try is worth it. A holder that a check has seen may be this call itself, granted by a try whose
    // answer was lost, so there is nobody to wait for.
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
        if ((await handle(outcome, signal)) && leftMs() > 1) continue
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

/** Acquires without regard to other calls of this process. */
export function acquireAlone(context: Context, plan: Plan, fences = 1): Promise<Acquired> {
  return acquisition(context, plan, { since: instant(context.clock), fences, known: nothingKnown() }).run()
}
