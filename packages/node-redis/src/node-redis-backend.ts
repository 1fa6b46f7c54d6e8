import {
  demandKnown,
  type LeaseStore,
  type ProcessRuntime,
  processName,
  type ReleaseNotifier,
  sharesBetweenCalls,
} from '@leasehold/core/adapter'
import type { PubsubNotifierOptions, RedisStoreOptions } from '@leasehold/core/redis'
import type { NodeRedisClient } from './node-redis-client.ts'
import { nodeRedisNotifier } from './node-redis-notifier.ts'
import { nodeRedisStore } from './node-redis-store.ts'

export interface NodeRedisBackendOptions extends RedisStoreOptions, PubsubNotifierOptions {
  /** The prefix of every key and channel, in the store and in the notifier; default `lock:`. */
  readonly prefix?: string | undefined
  /**
   * The locker's name, which whoever reads its locks can see: up to 64 of `A-Z a-z 0-9 _ -`; default host and pid. A `name`
   * given to `createLocker` wins.
   */
  readonly name?: string | undefined
}

/** What a locker needs from a Redis, to spread into the options of `createLocker`. */
export interface NodeRedisBackend {
  readonly store: LeaseStore
  readonly notifier: ReleaseNotifier
  /** Left out where neither host nor pid is known. */
  readonly name?: string | undefined
}

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
 * import { nodeRedisBackend } from '@leasehold/node-redis'
 * import { createClient } from 'redis'
 *
 * const redis = createClient({ url: 'redis://127.0.0.1:6379' })
 * redis.on('error', (error) => console.error(error))
 * await redis.connect()
 * const locks = createLocker({ ...nodeRedisBackend(redis, { prefix: 'shop:' }), ttl: '5s' })
 * ```
 *
 * @throws InvalidOptionError for anything that is not such a client, for a pool, for a client in legacy mode or with a
 *   `keyPrefix`
 * @throws InvalidOptionError for an unknown option, or a bad `prefix`, `fenceMemory` or `mode`; `createLocker` throws it
 *   for a bad `name`
 */
export function nodeRedisBackend(client: NodeRedisClient, options: NodeRedisBackendOptions = {}): NodeRedisBackend {
  demandKnown(options, ['prefix', 'fenceMemory', 'mode', 'name', 'clock'])
  const { prefix, fenceMemory, mode, clock, name = defaultName() } = options
  return {
    store: nodeRedisStore(client, { prefix, fenceMemory }),
    notifier: nodeRedisNotifier(client, { prefix, mode, clock }),
    ...(name !== undefined && { name }),
  }
}

/** Undefined on Workers: nobody owns a process there, and all would have the same name. */
const defaultName = (): string | undefined =>
  sharesBetweenCalls() ? processName(globalThis as ProcessRuntime) : undefined
