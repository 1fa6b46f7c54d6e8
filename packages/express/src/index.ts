/** `@leasehold/express`: handlers of Express under a lock, or once for each `Idempotency-Key`. */
export type { ExpressCall } from './call.ts'
export { type IdempotentHandler, type IdempotentOptions, idempotent } from './idempotent.ts'
export { type LockedHandler, type LockedOptions, locked } from './locked.ts'
