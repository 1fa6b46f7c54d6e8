/** `@leasehold/hono`: middleware that runs routes under a lock. */
export { type LockedOptions, locked } from './locked.ts'
export type { LocksOption } from './locks.ts'
export type { OnContended } from './refusal.ts'
