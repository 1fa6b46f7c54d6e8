import { sharesBetweenCalls } from '#sharing'
import { demandObject, refuseUnknown } from '../errors.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import { passingRedisStore } from './pass-on.ts'
import { type ProcessRuntime, processName } from './process-name.ts'
import { type PubsubNotifierOptions, pubsubNotifier } from './pubsub-notifier.ts'
import type { RedisStoreOptions } from './redis-store.ts'
import type { RedisSubscriber } from './redis-subscriber.ts'
import type { RedisTransport } from './redis-transport.ts'

export interface RedisBackendOptions extends RedisStoreOptions, PubsubNotifierOptions {
  /** The prefix of every key and channel, in the store and in the notifier; default `lock:`. */
  readonly prefix?: string | undefined
  /**
   * The locker's name, which whoever reads its locks can see: up to 64 of `A-Z a-z 0-9 _ -`; default host and pid. A `name`
   * given to `createLocker` wins.
   */
  readonly name?: string | undefined
}

/** What a locker needs from a Redis, to spread into the options of `createLocker`. */
export interface RedisBackend {
  readonly store: LeaseStore
  readonly notifier: ReleaseNotifier
  /** Left out where neither host nor pid is known. */
  readonly name?: string | undefined
}

/**
 * Makes the store of `passingRedisStore` and the notifier of `pubsubNotifier` with one prefix, and a name for the
 * locker. Adapters of clients that can listen are built on it.
 *
 * @example
 * ```ts
 * const locks = createLocker(redisBackend(transport, subscriber, { prefix: 'app:' }))
 * ```
 *
 * @throws InvalidOptionError for an unknown option, or a bad `prefix`, `fenceMemory` or `mode`; `createLocker` throws it
 *   for a bad `name`
 */
export function redisBackend(
  transport: RedisTransport,
  subscriber: RedisSubscriber,
  options: RedisBackendOptions = {},
): RedisBackend {
  demandObject(options)
  const { prefix, fenceMemory, mode, clock, name = defaultName(), ...rest } = options
  refuseUnknown(rest)
  return {
    store: passingRedisStore(transport, { prefix, fenceMemory }),
    notifier: pubsubNotifier(subscriber, { prefix, mode, clock }),
    ...(name !== undefined && { name }),
  }
}

/** Undefined on Workers: nobody owns a process there, and all would have the same name. */
const defaultName = (): string | undefined =>
  sharesBetweenCalls() ? processName(globalThis as ProcessRuntime) : undefined
