import { ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import type { RedisConnection } from '../durable-object/open-bridge.ts'
import { redisSettings } from './redis-settings.ts'

/**
 * Redis through ioredis, over the TCP sockets that `nodejs_compat` provides as `node:net`. Does no I/O: it connects on
 * the first check, and the subscriber when it is told to.
 *
 * Requests may share a socket only within a Durable Object; in a plain Worker, a socket belongs to the request that
 * opened it.
 */
export function redisConnection(url: string, prefix: string): RedisConnection {
  const redis = new Redis(url, {
    ...redisSettings,
    // Closing does not wait.
    disconnectTimeout: 0,
  })
  // Keeps the client from writing to the console. The bridge reports failures through its events.
  redis.on('error', () => undefined)
  return {
    store: ioredisStore(redis, { prefix }),
    subscriber: ioredisSubscriber(redis),
    close: () => redis.disconnect(),
  }
}
