import type { Context } from '../context.ts'
import type { Executed } from '../errors.ts'
import { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import { answered, unanswered } from '../store/answered.ts'
import { commandDeadlineMs, type Quiet } from '../store/ask.ts'
import type { Unknown } from '../store/lease-store.ts'
import { deadline, sleep } from '../timing/deadline.ts'
import { instant, waitedMs } from '../timing/validity.ts'
import { floorMs } from '../waiting/pacing.ts'
import { pollingWaiter } from '../waiting/polling-waiter.ts'
import { beginClaim, type Claim } from './claim.ts'
import { longestVainPauseMs } from './figures.ts'

/** How an acquire ended. Without a grant its time or budget was over, and the store had answered to the end. */
export interface Acquired {
  readonly grant: Grant | undefined
  /** Whole milliseconds. */
  readonly waitedMs: number
  readonly commands: number
  /** How many grants came with too little validity left, and were given back. */
  readonly lateGrants: number
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

/** How an acquire goes about it. */
export interface Terms {
  /** What is left of the wait, in milliseconds; by default the plan's wait begins now. */
  readonly leftMs?: () => number
  /** Consecutive fences to reserve with the grant; by default 1. */
  readonly fences?: number
  /** What is known of the lock before the first try. */
  readonly known?: Finding | undefined
  /** What is known of when the store wants to be asked again. */
  readonly quiet?: Quiet
  /** Whether it has been told already that somebody has the lock. */
  readonly toldContended?: boolean
  /** Told what is found by each try that brings no lease, and how many grants have come too late by then. */
  onFinding?(finding: Finding, lateGrants: number): void
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
  const { fences = 1, quiet = { untilMs: 0 }, onFinding } = terms
  let { known, toldContended } = terms
  const startedAt = instant(clock)
  const timeLeftMs = terms.leftMs ?? deadline(clock, waitMs || commandDeadlineMs(context, ttlMs))
  const waiter = notifier?.waiter(clock, plan) ?? pollingWaiter(clock, plan)
  const wake = (): void => waiter.wake()
  let lateGrants = 0
  /** Tries in a row that brought neither a lease nor anything to wait for. */
  let vain = 0
  /** Whether a request of this acquire may have been carried out without an answer. */
  let executed: Executed = 'no'

  // A spent budget ends the wait just as the deadline does.
  const leftMs = (): number => (plan.commands < budget ? timeLeftMs() : 0)
  const begin = (): Claim => beginClaim(context, { key, ttlMs, fences }, quiet, () => plan.commands++, learn, wake)
  const ended = (grant?: Grant): Acquired => ({
    grant,
    waitedMs: waitedMs(clock, startedAt),
    commands: plan.commands,
    lateGrants,
  })

  function learn(finding: Finding): void {
    known = finding
    onFinding?.(finding, lateGrants)
    if (finding === 'held' && !toldContended) {
      toldContended = true
      context.emit({ type: 'contended', key })
    }
  }

  /** Before the next try where nothing says when it is worth one, longer with each that was in vain. */
  const rest = (signal: AbortSignal): Promise<void> =>
    sleep(clock, Math.min(floorMs(vain++, longestVainPauseMs), leftMs()), signal)

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
            claim.accept(grant.token)
            return ended(grant)
          }
        }
        switch (outcome.type) {
          case 'granted':
          case 'spent':
            // It came too late to be of use, or went unseen: from now on its acquisition id would be told that its grant is spent.
            claim.abandon()
            claim = begin()
            lateGrants++
            learn('late')
            await rest(signal)
            break
          case 'state':
            // Whoever is seen to hold it may be we ourselves, by a try that stayed unanswered; so it says nothing but that.
            await rest(signal)
            break
          case 'held':
            vain = 0
            learn('held')
            if (waitMs > 0 && leftMs() > 1) await waiter.pause(outcome, leftMs, signal)
            break
          case 'unknown':
            // Cut short by the end of the wait it says nothing of the store, unless there is nothing else to say.
            if (typeof known !== 'string') learn({ ...known, ...outcome })
            else if (leftMs() > 1) learn(outcome)
            break
          case 'refused':
            answered('acquire', key, outcome, executed)
        }
        // Without an answer there is none to be had in the time that is left. One try is enough for who does not wait.
        if (leftMs() > 1 && outcome.type !== 'unknown' && (waitMs > 0 || outcome.type !== 'held')) continue
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
