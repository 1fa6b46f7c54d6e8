/** A server with one locker, one app that uses it, and an orderly shutdown. Read this file first. */

import { createLocker, type LockerEvent } from '@leasehold/core'
import { createApp } from '@leasehold/example-shop/app'
import { auditedLocks } from '@leasehold/example-shop/audited-locks'
import { noLocks } from '@leasehold/example-shop/no-locks'
import { serveOnNode } from '@leasehold/example-shop/serve-on-node'
import { memoryBackend, redisBackend } from './backend.ts'
import { logFindings } from './log-findings.ts'
import { readSettings } from './settings.ts'

/** How long running work may continue after SIGTERM, and when the process ends in any case. */
const grace = '5s'
const exitDeadlineMs = 10_000

const settings = readSettings(process.env)
const { redisUrl, name } = settings
const backend = redisUrl ? redisBackend(redisUrl, settings) : memoryBackend(settings)
const { leases, records, ledger } = backend

const { lockTtl: ttl, lockWait: wait } = settings
const locker = createLocker({ ...leases, name, ttl, wait, onEvent: report })
const guarded = settings.locks ? locker : noLocks()
const locks = settings.audit ? auditedLocks(guarded, ledger, name) : guarded

const { coupons: limits, workMs } = settings
const app = createApp({ locks, records, limits, server: name, workMs })
app.get('/healthz', async (c) => {
  // It asks the store, as every request does. If the store does not answer, this is a 503.
  await locker.isLocked('healthz')
  return c.json({ status: 'ok', store: backend.description })
})
if (settings.audit) app.get('/api/ledger', async (c) => c.json(await ledger.entries()))

const server = await serveOnNode(app, settings.port, settings.host)
console.log(`${name} listens on ${server.url} with ${backend.description}`)
void logFindings(backend.leases)

/** A service would count these, or log some. The tests and the demo open a channel to this process and watch them. */
function report(event: LockerEvent): void {
  // The callback drops the error if the parent is exiting. The `disconnect` event reports that, too.
  if (process.connected) process.send?.({ at: Date.now(), ...event }, undefined, undefined, () => undefined)
}

/** Ends the process in order: no work is cut off, and no lock is left to expire. */
async function stop(): Promise<void> {
  setTimeout(() => process.exit(1), exitDeadlineMs).unref()
  server.refuse()
  // Requests that wait for a lock get a 503 at once. Holders may finish. After the grace, those still running lose
  // their leases.
  await locker.close({ grace })
  await server.close()
  await backend.close()
  if (process.connected) process.disconnect()
}

let stopping = false
for (const cause of ['SIGTERM', 'SIGINT', 'disconnect'] as const) {
  // Once: a second signal of the same kind finds no listener, and ends the process at once.
  process.once(cause, () => {
    if (!stopping) void stop()
    stopping = true
  })
}
