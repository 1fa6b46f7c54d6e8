/*
 * Imports every entry for Workers and creates everything they create, at module scope, and then takes and releases one
 * lock. The bridge's own entry is left out: it runs over TCP.
 */

import { env, waitUntil } from 'cloudflare:workers'
import { bridgeNotifier } from '@leasehold/bridge-client'
import { leaseWatchdog, requestScope, shards, watchdog } from '@leasehold/cloudflare'
import { createLocker, type Locker } from '@leasehold/core'
import { backoffMs, keyLayout, SignalCount } from '@leasehold/core/adapter'
import { checker } from '@leasehold/core/check'
import { lead, leaderOf } from '@leasehold/core/election'
import { fenceGate, fencePredicate } from '@leasehold/core/fencing'
import { detach, resume } from '@leasehold/core/hand-over'
import { acquireAll, releaseAll, tryAcquireEach } from '@leasehold/core/many'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { once } from '@leasehold/core/once'
import { fifo, priority } from '@leasehold/core/queue'
import { within } from '@leasehold/core/re-entry'
import { readWriteLock } from '@leasehold/core/read-write'
import { checkClaims, claimRecord } from '@leasehold/core/records'
import { redisStore } from '@leasehold/core/redis'
import { holdAtLeast } from '@leasehold/core/schedule'
import { semaphore } from '@leasehold/core/semaphore'
import { idempotent as idempotentRoute, locked } from '@leasehold/hono'
import { idempotent } from '@leasehold/idempotency'
import { fetchStore, fetchTransport, upstashStore } from '@leasehold/upstash'
import { Redis } from '@upstash/redis/cloudflare'

const gateway = { url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }
const memory = memoryStore()
const lockers: Readonly<Record<string, Locker>> = {
  fetchStore: createLocker({ store: fetchStore(gateway), name: 'fetch' }),
  upstashStore: createLocker({ store: upstashStore(new Redis(gateway)), name: 'upstash' }),
  redisStore: createLocker({ store: redisStore(fetchTransport(gateway)) }),
  memoryStore: createLocker({ store: memory, notifier: memoryNotifier(memory) }),
}

const [locks] = Object.values(lockers) as [Locker]
checkClaims(locks, { inDoubtFor: '1h' })
const pool = semaphore(locks, 'pool', { permits: 2 })
const doc = readWriteLock(locks, 'doc')
/** Kept, so that the bundle has all of it. */
const made: readonly unknown[] = [
  requestScope({ waitUntil }),
  watchdog(env.WATCHDOG, { nameOf: shards(2) }),
  bridgeNotifier(gateway),
  idempotent({ locks, scope: 'shop' }),
  idempotentRoute({ locks: () => locks, scope: 'shop' }),
  locked({ locks, key: () => 'order' }),
  checker({ store: memory }),
  claimRecord,
  detach,
  once,
  locks.for('queued', { queue: fifo() }),
  priority(1),
  lead,
  leaderOf,
  resume,
  acquireAll,
  releaseAll,
  tryAcquireEach,
  within,
  holdAtLeast(locks, '1m'),
  fenceGate,
  keyLayout('lock:'),
  new SignalCount(),
  backoffMs,
]

export class LeaseWatchdog extends leaseWatchdog(() => ({ store: memory })) {}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const [, store = '', key = ''] = pathname.split('/')
    if (store === 'shared') return shared()
    const lease = await lockers[store]?.acquire(key)
    if (!lease) return new Response('There is no such store', { status: 404 })
    await env.TEST.fetch(`http://test${pathname}`)
    const { params } = fencePredicate('orders.fence', lease.fence)
    return Response.json({ fence: params[0], ended: await lease.release(), made: made.every(Boolean) })
  },
}

/** Takes all permits, has a waiter wait for one, and writes with a nested read. */
async function shared(): Promise<Response> {
  const permits = await pool.acquire({ permits: 2 })
  const next = pool.acquire()
  const [ended] = await Promise.all([permits.release(), (await next).release()])
  const write = await doc.write()
  const read = await doc.read({ within: write })
  return Response.json({ ended, written: await write.release(), read: await read.release() })
}
