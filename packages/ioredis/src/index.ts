/** `@leasehold/ioredis`: locks over ioredis 5 and 6, iovalkey, or a client compatible with them. */
export type { IoredisClient } from './ioredis-client.ts'
export { ioredisStore } from './ioredis-store.ts'
export { ioredisTransport } from './ioredis-transport.ts'
