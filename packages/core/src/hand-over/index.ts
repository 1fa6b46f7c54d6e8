/** Hand-over: a lease leaves one process, travels with its work, and goes on in another. */
export type { HandOverStore, ResumeOutcome, ResumeRequest } from '../store/hand-over.ts'
export { type DetachOptions, detach } from './detach.ts'
export type { DetachedLease } from './detached-lease.ts'
export { handOverOf } from './hand-over-of.ts'
export { resume } from './resume.ts'
