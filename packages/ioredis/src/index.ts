/** `@leasehold/ioredis`: locks over ioredis 5 and 6, iovalkey, or a client compatible with them. */
export { type RedisBackend, type RedisBackendOptions, waitForReplicas } from '@leasehold/core/redis'
export { ioredisBackend } from './ioredis-backend.ts'
export type { IoredisClient } from './ioredis-client.ts'
export { ioredisNotifier } from './ioredis-notifier.ts'
export { ioredisStore } from './ioredis-store.ts'
export { type IoredisSubscribable, ioredisSubscriber } from './ioredis-subscriber.ts'
export { ioredisTransport } from './ioredis-transport.ts'
