import {
  demandKnown,
  type LeaseStore,
  type ProcessRuntime,
  processName,
  type ReleaseNotifier,
  sharesBetweenCalls,
} from '@leasehold/core/adapter'
import type { PubsubNotifierOptions, RedisStoreOptions } from '@leasehold/core/redis'
import { ioredisNotifier } from './ioredis-notifier.ts'
import { ioredisStore } from './ioredis-store.ts'
import type { IoredisSubscribable } from './ioredis-subscriber.ts'

export interface IoredisBackendOptions extends RedisStoreOptions, PubsubNotifierOptions {
  /** The prefix of every key and channel, in the store and in the notifier; default `lock:`. */
  readonly prefix?: string | undefined
  /**
   * The locker's name, which whoever reads its locks can see: up to 64 of `A-Z a-z 0-9 _ -`; default host and pid. A `name`
   * given to `createLocker` wins.
   */
  readonly name?: string | undefined
}

/** What a locker needs from a Redis, to spread into the options of `createLocker`. */
export interface IoredisBackend {
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
 * import { ioredisBackend } from '@leasehold/ioredis'
 * import { Redis } from 'ioredis'
 *
 * const redis = new Redis('redis://127.0.0.1:6379')
 * const locks = createLocker({ ...ioredisBackend(redis, { prefix: 'shop:' }), ttl: '5s' })
 * ```
 *
 * @throws InvalidOptionError for anything that is not such a client, and for a client with a `keyPrefix`
 * @throws InvalidOptionError for an unknown option, or a bad `prefix`, `fenceMemory` or `mode`; `createLocker` throws it
 *   for a bad `name`
 */
export function ioredisBackend(client: IoredisSubscribable, options: IoredisBackendOptions = {}): IoredisBackend {
  demandKnown(options, ['prefix', 'fenceMemory', 'mode', 'name', 'clock'])
  const { prefix, fenceMemory, mode, clock, name = defaultName() } = options
  return {
    store: ioredisStore(client, { prefix, fenceMemory }),
    notifier: ioredisNotifier(client, { prefix, mode, clock }),
    ...(name !== undefined && { name }),
  }
}

/** Undefined on Workers: nobody owns a process there, and all would have the same name. */
const defaultName = (): string | undefined =>
  sharesBetweenCalls() ? processName(globalThis as ProcessRuntime) : undefined
