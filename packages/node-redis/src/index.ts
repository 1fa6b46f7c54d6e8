/** `@leasehold/node-redis`: locks over node-redis 4, 5 and 6. */
export { type RedisBackend, type RedisBackendOptions, waitForReplicas } from '@leasehold/core/redis'
export { nodeRedisBackend } from './node-redis-backend.ts'
export type {
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisConnection,
  NodeRedisSentinel,
} from './node-redis-client.ts'
export { nodeRedisNotifier } from './node-redis-notifier.ts'
export { nodeRedisStore } from './node-redis-store.ts'
export { nodeRedisSubscriber } from './node-redis-subscriber.ts'
export { nodeRedisTransport } from './node-redis-transport.ts'
