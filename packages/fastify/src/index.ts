/** `@leasehold/fastify`: handlers of Fastify under a lock, or once for each `Idempotency-Key`. */
export type { FastifyCall, Handler } from './call.ts'
export { type IdempotentHandler, type IdempotentOptions, idempotent } from './idempotent.ts'
export { keepBytes } from './keep-bytes.ts'
export { type LockedHandler, type LockedOptions, locked } from './locked.ts'
