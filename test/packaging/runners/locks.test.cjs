/* A test of somebody's own code in CommonJS, for Jest and for `node:test`. */
const { createLocker, AcquireTimeoutError } = require('@leasehold/core')
const { memoryStore } = require('@leasehold/core/memory')
const { idempotent } = require('@leasehold/idempotency')
const { ioredisStore } = require('@leasehold/ioredis')
const { fetchStore } = require('@leasehold/upstash')
const { bridgeNotifier } = require('@leasehold/bridge-client')
const { createBridge } = require('@leasehold/bridge/server')
const { createGateway } = require('@leasehold/bridge/gateway')
const { follow, ManualClock } = require('@leasehold/testkit')
const { startRedis } = require('@leasehold/testkit/redis')
const { Redis } = require('ioredis')
const assert = require('node:assert/strict')

const test = globalThis.test ?? require('node:test').test

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
}, 30_000)

test('everything else is there', () => {
  assert.deepEqual(
    [fetchStore, bridgeNotifier, createBridge, createGateway, idempotent].map((each) => typeof each),
    ['function', 'function', 'function', 'function', 'function'],
  )
})
