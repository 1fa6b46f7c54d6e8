import { type RedisBackend, type RedisBackendOptions, redisBackend } from '@leasehold/core/redis'
import { type IoredisSubscribable, ioredisSubscriber } from './ioredis-subscriber.ts'
import { ioredisTransport } from './ioredis-transport.ts'

/**
 * The store and the notifier over one client, with one prefix, and a name for the locker.
 *
 * The client stays yours. When a waiter first waits, the notifier opens one more connection like the client's; it
 * closes with the locker. The call itself does no I/O.
 *
 * **Whoever can read a lock sees the name of its holder**: in Redis, by `inspect`, in the log of a bridge. By default that
 * is the host and the pid, reduced to `A-Z a-z 0-9 _ -` and 32 characters, such as `orders-7c9d5b8f7b-x2x4z-1`. Where a
 * host name must not be seen, give a `name`, here or to `createLocker`.
 *
 * @example
 * ```ts
 * import { createLocker } from '@leasehold/core'
 * import { ioredisBackend } from '@leasehold/ioredis'
 * import { Redis } from 'ioredis'
 *
 * const redis = new Redis('redis://127.0.0.1:6379')
 * const locks = createLocker({ ...ioredisBackend(redis, { prefix: 'shop:' }), ttl: '5s' })
 * ```
 *
 * @throws InvalidOptionError for anything that is not such a client, and for a client with a `keyPrefix`
 * @throws everything that `redisBackend` throws
 */
export const ioredisBackend = (client: IoredisSubscribable, options?: RedisBackendOptions): RedisBackend =>
  redisBackend(ioredisTransport(client), ioredisSubscriber(client), options)
