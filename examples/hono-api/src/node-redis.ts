import type { LockerOptions } from '@leasehold/core'
import type { ReleaseNotifier } from '@leasehold/core/adapter'
import type { RedisTransport } from '@leasehold/core/redis'
import { ioredisBackend, ioredisTransport } from '@leasehold/ioredis'
import { fetchStore, fetchTransport, type RestEndpoint } from '@leasehold/upstash'
import { Redis } from 'ioredis'

/** What the locker and the records need of a Redis. */
export interface RedisAccess {
  /** To spread into the options of `createLocker`. Without a notifier, waiters poll. */
  readonly leases: Pick<LockerOptions, 'store' | 'notifier'>
  /** For the records. */
  readonly transport: RedisTransport
  close(): void
}

/** One connection for commands, and one for wake-ups. */
export function overTcp(url: string): RedisAccess {
  // A command whose answer was lost may have run. The caller is notified; ioredis must not resend it on its own.
  const client = new Redis(url, { autoResendUnfulfilledCommands: false })
  client.on('error', (error: Error) => console.error(`Redis cannot be reached: ${error.message || error.name}`))
  return {
    leases: ioredisBackend(client),
    transport: ioredisTransport(client),
    close: () => client.disconnect(),
  }
}

/**
 * For networks where only HTTP gets through: an Upstash database, or the gateway of `@leasehold/bridge`.
 *
 * @param notifier listens to the same Redis
 */
export function overHttp(endpoint: RestEndpoint, notifier?: ReleaseNotifier): RedisAccess {
  return {
    leases: { store: fetchStore(endpoint), notifier },
    transport: fetchTransport(endpoint),
    close: () => undefined,
  }
}
