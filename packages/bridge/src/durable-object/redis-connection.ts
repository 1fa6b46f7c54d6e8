import { backoff, type LeaseStore } from '@leasehold/core'
import type { RedisSubscriber } from '@leasehold/core/redis'
import { ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { Redis } from 'ioredis'

export interface RedisConnection {
  readonly store: Pick<LeaseStore, 'look'>
  readonly subscriber: RedisSubscriber
  /** Ends the connection of the looks, and its attempts. What listens is ended by who listens. */
  close(): void
}

/** How long it may take to connect, in milliseconds. */
const connectTimeout = 5_000
/** How long an answer may take until the connection is given up, in milliseconds: as long as the bridge waits for a look. */
const socketTimeout = 2_000
/** The pause between attempts to connect: Redis may be back soon, and one object is no herd, but there may be several. */
const pause = backoff({ from: 50, to: 1_000 })

/**
 * Redis by ioredis, over the TCP sockets that `nodejs_compat` gives to its `node:net`. Does no I/O: it connects with the
 * first look, and the subscriber when it is told to.
 *
 * Only within a Durable Object may its requests share a socket; in a plain Worker it belongs to the request that opened it.
 */
export function redisConnection(url: string, prefix: string): RedisConnection {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout,
    // It would ask with INFO, which a user with few permissions may not, and write a warning. A Redis that is still loading
    // refuses looks and subscriptions, and the bridge tries again.
    enableReadyCheck: false,
    // A connection that is dead on the way, and says nothing of it, would fail every look for as long as TCP tries.
    socketTimeout,
    // A look that was not answered is made again by the bridge, when it is still wanted.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times: number) => pause.delayMs(times, Math.random()),
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
