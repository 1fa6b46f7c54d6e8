/** A worker: its jobs, one locker for all of them, and an orderly shutdown. Read this file first. */

import { createLocker } from '@leasehold/core'
import { serveOnNode } from '@leasehold/example-shop/serve-on-node'
import { ioredisBackend, ioredisTransport } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { createApp } from './app.ts'
import { Ledger } from './ledger.ts'
import { schedule } from './scheduler.ts'
import { readSettings } from './settings.ts'
import { type Worker, work } from './work.ts'

/** How long running jobs may continue after SIGTERM, and when the process ends in any case. */
const grace = '5s'
const exitDeadlineMs = 10_000

let stopping = false

const { redisUrl, name, lockTtl: ttl, workMs, tickMs, port, host } = readSettings(process.env)
// A command whose answer was lost may have run. The caller is notified; ioredis must not resend it on its own.
const redis = new Redis(redisUrl, { commandTimeout: 2_000, autoResendUnfulfilledCommands: false })
redis.on('error', (error: Error) => console.error(`Redis: ${error.message || error.name}`))

const locks = createLocker({ ...ioredisBackend(redis), name, ttl })
const worker: Worker = { name, locks, ledger: new Ledger(redis, name), work: work(workMs) }
const server = await serveOnNode(createApp(worker), port, host)
const scheduler = schedule(worker, { redis, transport: ioredisTransport(redis), tickMs })
scheduler.ended.catch((error: unknown) => {
  // Another worker leads by now. This one ends, and its supervisor restarts it.
  console.error('The scheduler has failed:', error)
  process.exitCode = 1
  void stop()
})
console.log(`${name} listens on ${server.url}`)

/** Ends the process in order: the next scheduler leads at once, no job is cut off, and no lock is left to expire. */
async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  setTimeout(() => process.exit(1), exitDeadlineMs).unref()
  server.refuse()
  await scheduler.stop().catch(() => undefined)
  await locks.close({ grace })
  await server.close()
  redis.disconnect()
}

for (const cause of ['SIGTERM', 'SIGINT'] as const) process.once(cause, () => void stop())
