import { answered, commandDeadlineMs, unanswered } from './ask.ts'
import { beginClaim, type Claim } from './claim.ts'
import type { Context } from './context.ts'
import { Grant } from './grant.ts'
import type { Plan } from './options.ts'
import type { SignalCount } from './signal-count.ts'
import { deadline } from './timing/deadline.ts'
import { elapsedMs, instant } from './timing/validity.ts'
import { unaidedWaiter } from './unaided-waiter.ts'

/** How an acquire ended. Without a grant its time or budget was over, and someone had the lock. */
export interface Acquired {
  readonly grant: Grant | undefined
  readonly waitedMs: number
  readonly commands: number
}

/** How an acquire goes about it. */
export interface Attempt {
  /** What is left of the wait, in milliseconds; by default the plan's wait begins now. */
  readonly leftMs?: () => number
  /** Consecutive fences to reserve with the grant; by default 1. */
  readonly fences?: number
  /** Somebody was seen to hold the lock already. */
  readonly sawHolder?: boolean
  /** Called when a try is refused for the first time. */
  onHeld(): void
  /** Each ends a pause that nobody else ends: whoever sends one knows that the lock may be free. */
  readonly nudges?: SignalCount
  /** Called when a try is refused, each time. */
  readonly onRefused?: () => void
  /** Called when a grant came too late to be of use, and was given back. */
  readonly onLate?: () => void
}

/**
 * Tries, waits and tries again, until the lock is granted or the plan's wait is over. Without a wait there is one try,
 * repeated only while it stays unanswered.
 *
 * @throws the signal's own reason when it is aborted, at once · StoreUnavailableError when the store did not answer and
 *   nobody was seen to hold the lock · the store's error when it refuses for good
 */
export async function acquisition(
  context: Context,
  plan: Plan,
  signal: AbortSignal,
  { leftMs: waitLeftMs, fences = 1, sawHolder = false, nudges, onHeld, onRefused, onLate }: Attempt,
): Promise<Acquired> {
  const { clock, notifier } = context
  const { key, ttlMs, waitMs, budget } = plan
  const startedAt = instant(clock)
  const timeLeftMs = waitLeftMs ?? deadline(clock, waitMs || commandDeadlineMs(context, ttlMs))
  const waiter = notifier?.waiter(clock, plan) ?? unaidedWaiter(clock, plan, nudges)
  let commands = 0
  let everHeld = sawHolder

  // A spent budget ends the wait just as the deadline does.
  const leftMs = (): number => (commands < budget ? timeLeftMs() : 0)
  const begin = (): Claim => beginClaim(context, { key, ttlMs, fences }, () => commands++)
  const ended = (grant?: Grant): Acquired => ({ grant, waitedMs: elapsedMs(instant(clock), startedAt), commands })

  let claim = begin()
  try {
    for (;;) {
      const { outcome, sentAt } = await claim.attempt(leftMs, signal)
      if (outcome.type === 'granted') {
        waiter.granted?.()
        const grant = new Grant(clock, key, outcome.token, outcome.fence, { sentAt, ttlMs })
        if (grant.remainingMs() >= plan.minValidityMs) {
          claim.accept()
          return ended(grant)
        }
      }
      if (outcome.type === 'granted' || outcome.type === 'spent') {
        // It came too late to be of use, or went unseen: from now on its owner would be told that its grant is spent.
        claim.abandon()
        if (outcome.type === 'granted') onLate?.()
        claim = begin()
      } else if (outcome.type === 'held') {
        if (!everHeld) onHeld()
        everHeld = true
        onRefused?.()
        if (waitMs === 0) return ended()
        if (leftMs() > 1) await waiter.pause(outcome, leftMs, signal)
      } else if (outcome.type === 'refused' || !everHeld) {
        answered('acquire', outcome)
      }
      if (leftMs() > 1) continue
      if (everHeld) return ended()
      throw unanswered('acquire')
    }
  } finally {
    waiter.close()
    claim.abandon()
  }
}
