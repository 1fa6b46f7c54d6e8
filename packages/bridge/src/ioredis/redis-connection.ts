import { ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import type { RedisConnection } from '../durable-object/open-bridge.ts'
import { redisSettings } from './redis-settings.ts'

/**
 * Redis by ioredis, over the TCP sockets that `nodejs_compat` gives to its `node:net`. Does no I/O: it connects with the
 * first check, and the subscriber when it is told to.
 *
 * Only within a Durable Object may its requests share a socket; in a plain Worker it belongs to the request that opened it.
 */
export function redisConnection(url: string, prefix: string): RedisConnection {
  const redis = new Redis(url, {
    ...redisSettings,
    // Closing waits for nothing.
    disconnectTimeout: 0,
  })
  // It keeps the client from writing to the console. What fails, the bridge tells by its events.
  redis.on('error', () => undefined)
  return {
    store: ioredisStore(redis, { prefix }),
    subscriber: ioredisSubscriber(redis),
    close: () => redis.disconnect(),
  }
}
