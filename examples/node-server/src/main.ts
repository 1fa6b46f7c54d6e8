import { createLocker } from '@leasehold/core'
import { auditedLocks } from './audited-locks.ts'
import { couponDesk } from './coupons.ts'
import { serve } from './http-server.ts'
import { memoryBackend } from './memory-backend.ts'
import { noLocks } from './no-locks.ts'
import { orderDesk } from './orders.ts'
import { reportToParent } from './parent.ts'
import { redisBackend } from './redis-backend.ts'
import { routes } from './routes.ts'
import { readSettings } from './settings.ts'

/** How long running work may go on after SIGTERM, and by when everything must be over. */
const grace = '5s'
const exitDeadlineMs = 10_000

const settings = readSettings(process.env)
const backend = settings.redisUrl ? redisBackend({ ...settings, redisUrl: settings.redisUrl }) : memoryBackend(settings)
const { store, notifier, records } = backend

const locker = createLocker({
  store,
  notifier,
  name: settings.name,
  ttl: settings.lockTtl,
  wait: settings.lockWait,
  onEvent: reportToParent,
})
const guarded = settings.locks ? locker : noLocks()
const locks = settings.audit ? auditedLocks(guarded, records, settings.name) : guarded

const orders = orderDesk({ locks, records, server: settings.name, workMs: settings.workMs })
const coupons = couponDesk({ locks, records, server: settings.name, limits: settings.coupons })
const server = await serve(routes({ orders, coupons, backend, audit: settings.audit }), settings)
console.log(`${settings.name} listens on ${server.url} with ${backend.description}`)

/** Ends the process in order: nothing of it is left to run, and no lock is left to expire. */
async function stop(): Promise<void> {
  setTimeout(() => process.exit(1), exitDeadlineMs).unref()
  server.refuse()
  // Waits end at once (503), holders may finish, and what is left after the grace loses its lease.
  await locker.close({ grace })
  await server.close()
  await backend.close()
  if (process.connected) process.disconnect()
}

let stopping = false
for (const cause of ['SIGTERM', 'SIGINT', 'disconnect'] as const) {
  // Once: the same signal again finds no listener and ends the process at once.
  process.once(cause, () => {
    if (!stopping) void stop()
    stopping = true
  })
}
