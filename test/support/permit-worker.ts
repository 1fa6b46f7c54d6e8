/*
 * A separate process with clients that take permits of one semaphore, hold them and give them back, until it is killed.
 * It reports each hold by the machine's monotonic clock, which all processes share. Arguments: the port of a Redis, the
 * prefix, the capacity, the ttl, the number of clients.
 */
import { createLocker } from '@leasehold/core'
import { semaphore } from '@leasehold/core/semaphore'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

/** A hold begins, with the time for which it may be trusted, or ends. Times are in milliseconds. */
export type HoldNews =
  | { readonly enter: string; readonly atMs: number; readonly validForMs: number; readonly permits: number }
  | { readonly leave: string; readonly atMs: number }

const [port, prefix = '', capacity, ttl, clients] = process.argv.slice(2)
const redis = quiet(new Redis({ port: Number(port) }))
const locks = createLocker({
  store: ioredisStore(redis, { prefix }),
  notifier: ioredisNotifier(redis, { prefix }),
  ttl: Number(ttl),
  wait: '1m',
})
const pool = semaphore(locks, 'pool', { permits: Number(capacity) })

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6
const tell = (news: HoldNews): unknown => process.send?.(news)

async function work(client: number): Promise<void> {
  for (;;) {
    const lease = await pool.acquire()
    const id = `${process.pid} ${client} ${lease.fence}`
    tell({ enter: id, atMs: nowMs(), validForMs: lease.remaining(), permits: lease.permits })
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 100))
    // A released hold has ended before the request is sent.
    tell({ leave: id, atMs: nowMs() })
    await lease.release()
  }
}

for (let client = 0; client < Number(clients); client++) void work(client)
