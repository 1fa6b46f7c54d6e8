/** Leader election: of all candidates for a key, one leads, and its work is told to stop before another can lead. */
export type { Candidate, LeaderWork } from './candidate.ts'
export type { ElectionEvent } from './election-events.ts'
export { type LeadOptions, lead } from './lead.ts'
export { type Leader, leaderOf } from './leader-of.ts'
export type { Leadership } from './term.ts'
