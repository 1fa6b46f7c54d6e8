import type { LockerOptions } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { memoryRecords } from '@leasehold/example-shop/memory-records'
import type { Ledger, Records } from '@leasehold/example-shop/records'
import { redisLedger, redisRecords } from '@leasehold/example-shop/redis-records'
import { ioredisBackend, ioredisTransport } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import type { Settings } from './settings.ts'

/** Where the service keeps its leases and records: in one place, so that neither outlives the other. */
export interface Backend {
  readonly description: string
  /** Options to spread into those of `createLocker`. */
  readonly leases: Pick<LockerOptions, 'store' | 'notifier'>
  readonly records: Records
  readonly ledger: Ledger
  close(): Promise<void>
}

/** How long a client's request waits for one answer of Redis, in milliseconds. */
const commandTimeout = 2_000

/** Everything in one Redis. The server also starts without Redis, and answers 503 until Redis is reachable. */
export function redisBackend(
  url: string,
  { lockPrefix: prefix, dataPrefix, fenceMemory }: Pick<Settings, 'lockPrefix' | 'dataPrefix' | 'fenceMemory'>,
): Backend {
  // A command whose answer was lost may have run. The caller is notified; ioredis must not resend it on its own.
  const redis = new Redis(url, { commandTimeout, autoResendUnfulfilledCommands: false })
  logReachability(redis)
  const transport = ioredisTransport(redis)
  return {
    description: 'Redis',
    leases: ioredisBackend(redis, { prefix, fenceMemory }),
    records: redisRecords(transport, dataPrefix),
    ledger: redisLedger(transport, dataPrefix),
    close: async () => redis.disconnect(),
  }
}

/** The embedded store. Two servers with one each would not exclude each other, so run one. */
export function memoryBackend({ fenceMemory }: Pick<Settings, 'fenceMemory'>): Backend {
  const store = memoryStore({ fenceMemory })
  const records = memoryRecords()
  return {
    description: 'the embedded store (no REDIS_URL: one process only, nothing is kept after it)',
    leases: { store, notifier: memoryNotifier(store) },
    records,
    ledger: records,
    close: async () => undefined,
  }
}

/** Logs one line when Redis goes away, and one when it is back. ioredis reports every attempt to reconnect. */
function logReachability(redis: Redis): void {
  let reachable = true
  redis.on('error', (error: Error) => {
    if (reachable) console.error(`Redis cannot be reached: ${error.message || error.name}`)
    reachable = false
  })
  redis.on('ready', () => {
    if (!reachable) console.error('Redis is back')
    reachable = true
  })
}
