import type { LeaseStore, ReleaseNotifier } from '@leasehold/core/adapter'
import type { RedisTransport } from '@leasehold/core/redis'
import { ioredisNotifier, ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { fetchStore, fetchTransport, type RestEndpoint } from '@leasehold/upstash'
import { Redis } from 'ioredis'

/** A Redis, as the locker and the records need it. */
export interface RedisAccess {
  readonly store: LeaseStore
  readonly transport: RedisTransport
  /** Wakes waiters when a lock is released. Without one, they poll. */
  readonly notifier: ReleaseNotifier | undefined
  close(): void
}

/** One connection for commands, and one for wake-ups. */
export function overTcp(url: string): RedisAccess {
  // A command whose answer got lost may have run. The caller hears of that; ioredis must not send it again by itself.
  const client = new Redis(url, { autoResendUnfulfilledCommands: false })
  client.on('error', (error: Error) => console.error(`Redis cannot be reached: ${error.message || error.name}`))
  return {
    store: ioredisStore(client),
    transport: ioredisTransport(client),
    notifier: ioredisNotifier(client),
    close: () => client.disconnect(),
  }
}

/**
 * For where only HTTP gets through: an Upstash database, or the gateway of `@leasehold/bridge`.
 *
 * @param notifier listens to the same Redis
 */
export function overHttp(endpoint: RestEndpoint, notifier?: ReleaseNotifier): RedisAccess {
  return { store: fetchStore(endpoint), transport: fetchTransport(endpoint), notifier, close: () => undefined }
}
