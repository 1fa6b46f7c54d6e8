import type { Finding } from '../store/finding.ts'
import type { NodeFacts } from './redis-check.ts'
import type { Stage } from './rehearsal.ts'
import type { Timing } from './timing.ts'

/** What is checked: the store of a locker, and its notifier if it has one. The options of `createLocker` fit. */
export type CheckTarget = Stage

export interface CheckReport {
  /** What was found, the worst first. Empty if there is nothing to say. */
  readonly findings: readonly Finding[]
  readonly facts: CheckFacts
}

/** What was learned of a store that is neither good nor bad. */
export interface CheckFacts {
  /** Whether the store answered. */
  readonly reached: boolean
  /** Null for a store that has none. */
  readonly prefix: string | null
  /** The servers behind it: one, or the nodes of a cluster. None for a store that has no servers. */
  readonly nodes: readonly NodeFacts[]
  /** The round trip of a command that does nothing. Null where only scripts are sent, as over HTTP. */
  readonly ping: Timing | null
  /** The round trip of a script that reads one lock. */
  readonly script: Timing | null
  /** From before a release is sent until the notifier has heard of it. Null without a notifier, or if it heard nothing. */
  readonly wakeUp: Timing | null
}
