import type { LossReason } from '@leasehold/core'
import { doublingMs, type RenewOutcome, withDeadline } from '@leasehold/core/adapter'
import { firstPauseMs, longestPauseShare } from './figures.ts'
import type { LeaseRow, Leases } from './leases.ts'
import type { CheckedSettings } from './watchdog-settings.ts'

/** Called when a lease is no longer renewed, with the reason. */
export type Tell = (token: string, reason: LossReason | undefined) => void

/**
 * Drops what is over, and renews what is due with one request. It makes no difference whether an alarm, a late or
 * duplicate one, or a question triggered it: the stored deadlines decide.
 *
 * A lease whose validity is over is not renewed: the lock may be a successor's by now. A renewal compares the token in
 * any case.
 */
export async function round(leases: Leases, settings: () => CheckedSettings, nowMs: number, tell: Tell): Promise<void> {
  for (const { token, reason } of leases.dropOver(nowMs)) tell(token, reason)
  const due = leases.due(nowMs)
  if (due.length === 0) return
  try {
    await renew(leases, settings(), due, tell)
  } catch (cause) {
    // A bad setting, or a store that broke its promise not to reject.
    settle(leases, due, nowMs, nowMs, () => ({ type: 'unknown', executed: 'unknown', cause }), tell)
  }
}

async function renew(
  leases: Leases,
  { store, clock }: CheckedSettings,
  due: readonly LeaseRow[],
  tell: Tell,
): Promise<void> {
  const requests = due.map(({ key, token, ttlMs }) => ({ key, token, ttlMs }))
  const leastTtlMs = Math.min(...due.map(({ ttlMs }) => ttlMs))
  // The next round retries, so this attempt gets only half of the time.
  const limitMs = Math.min(store.commandDeadlineMs, leastTtlMs / 3) / 2
  const sentAtMs = clock.wallMs()
  const apply = (outcomes: readonly RenewOutcome[]): void =>
    settle(leases, due, sentAtMs, clock.wallMs(), (at) => outcomes[at] ?? silence, tell)
  apply((await withDeadline(clock, limitMs, (call) => store.renew(requests, call), apply)) ?? [])
}

const silence: RenewOutcome = {
  type: 'unknown',
  executed: 'unknown',
  cause: new Error('The store did not answer in time'),
}

/** Applies the answers, lease by lease: a failure of one does not affect the others. */
function settle(
  leases: Leases,
  due: readonly LeaseRow[],
  sentAtMs: number,
  nowMs: number,
  outcomeAt: (index: number) => RenewOutcome,
  tell: Tell,
): void {
  let quietMs = 0
  let trouble: string | null = null
  for (const [index, lease] of due.entries()) {
    const outcome = outcomeAt(index)
    if (outcome.type === 'renewed') leases.renewed(lease, sentAtMs)
    else if (outcome.type === 'gone' || outcome.type === 'superseded') {
      leases.drop(lease.token)
      tell(lease.token, outcome.type)
    } else {
      trouble = troubleOf(outcome)
      const intervalMs = lease.ttlMs / 3
      const restMs = doublingMs(firstPauseMs, lease.ttlMs * longestPauseShare, lease.unanswered)
      const askedMs = outcome.type === 'unknown' ? (outcome.retryAfterMs ?? 0) : 0
      quietMs = Math.max(quietMs, askedMs)
      leases.unanswered(lease, nowMs + Math.max(restMs, Math.min(askedMs, intervalMs)))
    }
  }
  leases.note(sentAtMs, due.length, trouble)
  if (quietMs > 0) leases.keepQuiet(nowMs + quietMs)
}

/** The message of the error behind an outcome. The messages of stores contain no secrets. */
function troubleOf(outcome: RenewOutcome): string {
  const { error, cause } = outcome as { readonly error?: unknown; readonly cause?: unknown }
  const of = Object((Object(error) as { readonly cause?: unknown }).cause ?? error ?? cause) as {
    readonly message?: unknown
  }
  return typeof of.message === 'string' ? of.message : 'No answer'
}
