import { commandDeadlineMs } from './ask.ts'
import { beginClaim } from './claim.ts'
import type { Context } from './context.ts'
import type { Executed } from './errors.ts'
import { emit } from './events.ts'
import { Grant } from './grant.ts'
import type { Plan } from './options.ts'
import { deadline } from './timing/deadline.ts'
import { elapsedMs, instant } from './timing/validity.ts'
import { Waiting } from './waiting.ts'

/** How an acquire ended. `held`: its time or budget was over, and someone had the lock. */
export type Acquired = { readonly waitedMs: number; readonly commands: number } & (
  | { readonly type: 'granted'; readonly grant: Grant }
  | { readonly type: 'held' }
  | { readonly type: 'unavailable'; readonly executed: Executed; readonly cause: unknown }
)

/**
 * Tries, waits and tries again, until the lock is granted or the plan's wait is over. Without a wait there is one try,
 * repeated only while it stays unanswered.
 *
 * @throws the signal's own reason when it is aborted, at once; the store's error when it refuses for good.
 */
export async function acquisition(context: Context, plan: Plan, signal: AbortSignal): Promise<Acquired> {
  const { clock } = context
  const { key, ttlMs } = plan
  const startedAt = instant(clock)
  const timeLeftMs = deadline(clock, plan.waitMs || commandDeadlineMs(context, ttlMs))
  const waiting = new Waiting(context, plan)
  let claim = beginClaim(context, key, ttlMs)
  let earlierCommands = 0
  let everHeld = false

  const figures = (): { waitedMs: number; commands: number } => ({
    waitedMs: elapsedMs(clock, startedAt),
    commands: earlierCommands + claim.commands,
  })
  // A spent budget ends the wait just as the deadline does.
  const leftMs = (): number => (figures().commands < plan.budget ? timeLeftMs() : 0)
  const claimAnew = (): void => {
    claim.abandon()
    earlierCommands += claim.commands
    claim = beginClaim(context, key, ttlMs)
  }

  try {
    for (;;) {
      const { outcome, sentAt } = await claim.attempt(leftMs, signal)
      if (outcome.type === 'granted') {
        const grant = new Grant(clock, key, outcome.token, outcome.fence, { sentAt, ttlMs })
        if (grant.remainingMs() >= plan.minValidityMs) {
          claim.accept()
          return { type: 'granted', grant, ...figures() }
        }
        // It came too late to be of use, and its owner would be told from now on that its grant is spent.
        claimAnew()
      } else if (outcome.type === 'spent') {
        claimAnew()
      } else if (outcome.type === 'held') {
        if (!everHeld) emit(context.onEvent, { type: 'contended', key })
        everHeld = true
        if (plan.waitMs === 0) return { type: 'held', ...figures() }
        await waiting.pause(outcome, leftMs, signal)
      } else if (outcome.type === 'refused') {
        throw outcome.error
      } else if (!everHeld) {
        return { type: 'unavailable', executed: outcome.executed, cause: outcome.cause, ...figures() }
      }
      if (leftMs() > 1) continue
      if (everHeld) return { type: 'held', ...figures() }
      return { type: 'unavailable', executed: 'unknown', cause: undefined, ...figures() }
    }
  } finally {
    waiting.close()
    claim.abandon()
  }
}
