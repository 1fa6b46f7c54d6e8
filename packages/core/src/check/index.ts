/** An examination of a store and its notifier for anything that endangers locks: findings, each with a remedy. */
export type { Finding } from '../store/finding.ts'
export { knownFindings } from './catalogue.ts'
export { type Checker, type CheckOptions, check, checker } from './check.ts'
export type { NodeFacts } from './redis-check.ts'
export type { CheckFacts, CheckReport, CheckTarget } from './report.ts'
export type { ServerReport } from './server-report.ts'
export type { Timing } from './timing.ts'
