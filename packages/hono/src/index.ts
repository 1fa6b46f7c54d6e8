/** `@leasehold/hono`: middleware that runs routes under a lock, and once for each `Idempotency-Key`. */
export { type IdempotentOptions, idempotent } from './idempotent.ts'
export { type LockCalls, type LockedOptions, locked } from './locked.ts'
export type { LocksOption } from './locks.ts'
export type { OnContended } from './refusal.ts'
