/*
 * A separate process that queues for one lock. It enters a waiter when it is told to, and reports when the waiter is in
 * the queue, and when it has the lock, which it gives back after a while. Arguments: the port of a Redis, the prefix,
 * the key, how long each waiter holds the lock in milliseconds, its ttl, and whether that Redis is a node of a cluster.
 */
import { createLocker } from '@leasehold/core'
import { fifo, inspectQueue, priority } from '@leasehold/core/queue'
import { ioredisBackend } from '@leasehold/ioredis'
import { Cluster, Redis } from 'ioredis'
import { quiet } from './quiet.ts'

/** What the process is told: enter waiters, one after another. */
export interface QueueOrder {
  readonly enter: readonly number[]
  readonly level?: number
}

/** What the process reports: a waiter is in the queue, or has the lock, with this fence. */
export type QueueNews = { readonly queued: number } | { readonly granted: number; readonly fence: number }

const [port, prefix = '', key = '', holdMs, ttl, isCluster] = process.argv.slice(2)
const redis =
  isCluster === 'true'
    ? quiet(new Cluster([{ host: '127.0.0.1', port: Number(port) }]))
    : quiet(new Redis(Number(port)))
let onContended: (() => void) | undefined
const locks = createLocker({
  ...ioredisBackend(redis, { prefix }),
  wait: '10m',
  ttl: Number(ttl),
  onEvent: ({ type }) => type === 'contended' && onContended?.(),
})
const tell = (news: QueueNews): unknown => process.send?.(news)

async function hold(number: number, level: number | undefined): Promise<void> {
  const queue = level === undefined ? fifo() : priority(level)
  await locks.withLock(key, { queue }, async ({ fence }) => {
    tell({ granted: number, fence })
    if (Number(holdMs) > 0) await new Promise((resolve) => setTimeout(resolve, Number(holdMs)))
  })
}

process.on('message', async ({ enter, level }: QueueOrder) => {
  for (const number of enter) {
    const queued = new Promise<void>((resolve) => {
      onContended = resolve
    })
    void hold(number, level)
    await queued
    tell({ queued: number })
  }
})
// A wait for another lock keeps the inbox open. So each waiter enters with its first try, and is in the queue once it
// is contended.
const kept = `${key}-kept-${process.pid}`
await locks.acquire(kept, { ttl: '10m', renew: false })
locks.acquire(kept, { queue: fifo() }).catch(() => undefined)
while ((await inspectQueue(locks, kept)).waiting === 0) await new Promise((resolve) => setTimeout(resolve, 1))
process.send?.('ready')
