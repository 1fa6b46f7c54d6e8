/* A test of somebody's own code in ESM, for Vitest and for `node:test`. */
import assert from 'node:assert/strict'
import { createGateway } from '@leasehold/bridge/gateway'
import { createBridge } from '@leasehold/bridge/server'
import { bridgeNotifier } from '@leasehold/bridge-client'
import { AcquireTimeoutError, createLocker } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { idempotent } from '@leasehold/idempotency'
import { ioredisStore } from '@leasehold/ioredis'
import { follow, ManualClock } from '@leasehold/testkit'
import { startRedis } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'

const vitest = process.env.VITEST !== undefined
const { test } = await import(vitest ? 'vitest' : 'node:test')
if (vitest) {
  // Tests for Vitest, which only Vitest can load.
  const { storeConformance } = await import('@leasehold/testkit/conformance')
  test('the conformance suite is there', () => assert.equal(typeof storeConformance, 'function'))
}

test('a waiter gets the lock when its holder has died, by a clock that obeys', async () => {
  const clock = new ManualClock()
  const locks = createLocker({ store: memoryStore({ clock }), clock })
  await locks.acquire('order:1', { renew: false, ttl: '5s' })
  const waiting = follow(locks.acquire('order:1', { wait: '10s' }), clock)
  await clock.advance(9_000)
  assert.equal(waiting.state, 'fulfilled')
})

test('a lock in a Redis of its own excludes', async () => {
  const server = await startRedis()
  const redis = new Redis(server.url)
  const locks = createLocker({ store: ioredisStore(redis) })
  const lease = await locks.acquire('order:1')
  await assert.rejects(locks.acquire('order:1', { wait: 0 }), AcquireTimeoutError)
  assert.equal(await lease.release(), 'released')
  await locks.close()
  redis.disconnect()
  await server.stop()
})

test('everything else is there', () => {
  assert.deepEqual(
    [fetchStore, bridgeNotifier, createBridge, createGateway, idempotent].map((each) => typeof each),
    ['function', 'function', 'function', 'function', 'function'],
  )
})
