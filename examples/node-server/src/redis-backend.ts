import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import type { Backend } from './backend.ts'
import { redisRecords } from './redis-records.ts'
import type { Settings } from './settings.ts'

/** No request of a client should wait longer for one answer of the database. */
const commandTimeout = 2_000

/** Leases and records in one Redis, over one connection. The server starts without Redis too, and answers 503 until it is there. */
export function redisBackend(
  settings: Pick<Settings, 'lockPrefix' | 'dataPrefix' | 'fenceMemory'> & { redisUrl: string },
): Backend {
  // A command whose answer got lost may have been carried out: that is told to the caller, never tried again unseen.
  const redis = new Redis(settings.redisUrl, { commandTimeout, autoResendUnfulfilledCommands: false })
  let reachable = true
  redis.on('ready', () => {
    if (!reachable) console.error('Redis is back')
    reachable = true
  })
  redis.on('error', (error: Error) => {
    // Every try to reconnect ends here; one line tells it.
    if (reachable) console.error(`Redis cannot be reached: ${error.message || error.name}`)
    reachable = false
  })
  return {
    description: 'Redis',
    store: ioredisStore(redis, { prefix: settings.lockPrefix, fenceMemory: settings.fenceMemory }),
    notifier: ioredisNotifier(redis, { prefix: settings.lockPrefix }),
    records: redisRecords(redis, settings.dataPrefix),
    async check() {
      await redis.ping()
    },
    close: async () => redis.disconnect(),
  }
}
