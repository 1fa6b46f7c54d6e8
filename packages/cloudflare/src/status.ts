import type { SqlValue } from './storage.ts'

/** The status of a watchdog, for operators. It never contains a key or a token. */
export interface WatchdogStatus {
  /** How many leases it renews. */
  readonly leases: number
  /** How many of them have a linked Worker. The others are in their grace. */
  readonly linked: number
  /** When the next renewal is due. It is overdue if this is more than a minute ago. */
  readonly nextDueAt: Date | null
  /** The last request to the store. */
  readonly lastRequest: {
    readonly at: Date
    /** How many leases it covered. */
    readonly leases: number
    /** Why it got no answer for some or all of them; null if it got all answers. */
    readonly trouble: string | null
  } | null
  /** How many leases are in trouble: their last renewal got no answer. It is retried while they are valid. */
  readonly unanswered: number
}

const dateOf = (ms: SqlValue | undefined): Date | null => (typeof ms === 'number' ? new Date(ms) : null)

export function statusOf(figures: Record<string, SqlValue>): WatchdogStatus {
  const { leases, linked, nextDueMs, unanswered, requestAtMs, requestLeases, trouble } = figures
  const at = dateOf(requestAtMs)
  return {
    leases: Number(leases),
    linked: Number(linked),
    nextDueAt: dateOf(nextDueMs),
    lastRequest: at && { at, leases: Number(requestLeases), trouble: trouble as string | null },
    unanswered: Number(unanswered),
  }
}
