import { type LeaseStore, type ReleaseNotifier, sharesBetweenCalls } from '@leasehold/core/adapter'
import type { PubsubNotifierOptions, RedisStoreOptions } from '@leasehold/core/redis'
import { ioredisNotifier } from './ioredis-notifier.ts'
import { ioredisStore } from './ioredis-store.ts'
import type { IoredisSubscribable } from './ioredis-subscriber.ts'
import { demandKnown } from './known-options.ts'
import { type ProcessRuntime, processName } from './process-name.ts'

export interface IoredisBackendOptions extends RedisStoreOptions, PubsubNotifierOptions {
  /** What every key and channel begins with; default `lock:`. It is the store's and the notifier's. */
  readonly prefix?: string | undefined
  /**
   * Names the locker to whoever reads its locks: up to 64 of `A-Z a-z 0-9 _ -`; default host and pid. A `name` of the
   * locker itself wins.
   */
  readonly name?: string | undefined
}

/** What a locker needs of a Redis, to spread into the options of `createLocker`. */
export interface IoredisBackend {
  readonly store: LeaseStore
  readonly notifier: ReleaseNotifier
  /** Left out where neither host nor pid is known. */
  readonly name?: string | undefined
}

/**
 * The store and the notifier over one client, with one prefix, and a name for the locker.
 *
 * The client stays yours. The notifier makes one more connection like it when somebody first waits, and closes that with
 * the locker. Does no I/O by itself.
 *
 * **Whoever can read a lock sees the name of its holder**: in Redis, by `inspect`, in the log of a bridge. By default that
 * is the host and the pid, reduced to `A-Z a-z 0-9 _ -` and 32 characters, such as `orders-7c9d5b8f7b-x2x4z-1`. Where a
 * host's name must not be seen, give a `name`, here or to `createLocker`.
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
 * @throws InvalidOptionError for something that is no such client, or a client with a `keyPrefix`
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

/** None on Workers, where a process is nobody's and every one is called the same. */
const defaultName = (): string | undefined =>
  sharesBetweenCalls() ? processName(globalThis as ProcessRuntime) : undefined
