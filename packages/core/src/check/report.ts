import type { Finding } from '../store/finding.ts'
import type { NodeFacts } from './redis-check.ts'
import type { Stage } from './rehearsal.ts'
import type { Timing } from './timing.ts'

/** What to check: the store of a locker, and its notifier if it has one. The options of `createLocker` fit. */
export type CheckTarget = Stage

export interface CheckReport {
  /** The findings, the worst first. Empty if there is nothing to report. */
  readonly findings: readonly Finding[]
  readonly facts: CheckFacts
}

/** Facts about a store that are neither good nor bad. */
export interface CheckFacts {
  /** Whether the store answered. */
  readonly reached: boolean
  /** The store's prefix; null for a store without one. */
  readonly prefix: string | null
  /** The servers behind the store: one, or the nodes of a cluster. Empty for a store without servers. */
  readonly nodes: readonly NodeFacts[]
  /** The round trip of a command that does nothing. Null if only scripts are sent, as over HTTP. */
  readonly ping: Timing | null
  /** The round trip of a script that reads one lock. */
  readonly script: Timing | null
  /**
   * The time from sending a release until the notifier heard of it. Null without a notifier, or if it heard nothing.
   */
  readonly wakeUp: Timing | null
}
