import { createLocker, type Locker } from '@leasehold/core'
import type { AcquireOutcome, LeaseStore } from '@leasehold/core/adapter'
import { ioredisStore } from '@leasehold/ioredis'
import { callUntil } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bridgeToken } from '../../test/bridge.ts'
import { bridgeUser, connectionsOf, startTestWorker, type TestWorker } from '../../test/durable-object.ts'

/* The tests run in this order, in one object after another. They use database 3, to show that the object selects it. */

const db = 3
let server: RedisServer
let worker: TestWorker
let redis: Redis
let store: LeaseStore
let locks: Locker
beforeAll(async () => {
  server = await startRedis()
  worker = await startTestWorker({ redisUrl: await bridgeUser(server, { db }), settings: { heartbeatMs: 500 } })
  redis = new Redis(server.url, { db })
  redis.on('error', () => undefined)
  store = ioredisStore(redis)
  locks = createLocker({ store })
})
afterAll(async () => {
  redis.disconnect()
  await worker[Symbol.asyncDispose]()
  await server.stop()
})

/** The cursor that a locker would get from a contended acquire. */
async function cursorOf(key: string): Promise<string> {
  const request = { key, acquisitionId: 'f'.repeat(32), ttlMs: 10_000, fences: 1 }
  const [outcome] = (await store.acquire([request], callUntil(new AbortController().signal))) as [AcquireOutcome]
  if (outcome.type !== 'held') throw new Error(`It was not refused but ${outcome.type}`)
  return outcome.cursor
}
const subscribers = () => server.command('PUBSUB', 'NUMPAT')

test('it connects to Redis when a request that is let in needs that, and for no other', async () => {
  const nobody = { authorization: 'Bearer wrong' }
  expect((await worker.get('/healthz')).status).toBe(200)
  expect((await worker.get('/nothing')).status).toBe(404)
  const collector = { authorization: `Bearer metrics-${bridgeToken}` }
  expect((await worker.get('/metrics', collector)).status).toBe(200)
  expect((await worker.get('/v1/wait?key=a')).status).toBe(400)
  for (const path of ['/v1/wait?key=a&since=-', '/v1/events?key=a', '/readyz', '/metrics']) {
    const refused = await worker.get(path, nobody)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
  }
  expect(await connectionsOf(server)).toEqual([])

  expect((await worker.get('/readyz')).status).toBe(200)
  expect(await connectionsOf(server)).toHaveLength(2)
  expect(await subscribers()).toBe(1)
})

test('a long poll is answered by a release that comes in on a connection which another request has opened', async () => {
  expect(await (await worker.wait('free', '-')).json()).toEqual({ changed: true })
  const before = await connectionsOf(server)
  const lease = await locks.acquire('released')
  const answer = worker.wait('released', await cursorOf('released'))
  await worker.opened('waits', 1)
  await lease.release()
  expect(await (await answer).json()).toEqual({ changed: true })
  expect(await connectionsOf(server)).toEqual(before)
})

test('requests that wait at the same time share one subscription, and each hears of its own key', async () => {
  const [one, other] = [await locks.acquire('one'), await locks.acquire('other')]
  const answers = [worker.wait('one', await cursorOf('one')), worker.wait('other', await cursorOf('other'))]
  const stream = await worker.stream('key=one')
  await worker.opened('waits', 2)
  expect(await connectionsOf(server)).toHaveLength(2)
  expect(await subscribers()).toBe(1)
  await other.release()
  expect((await answers[1])?.status).toBe(200)
  await worker.opened('waits', 1)
  await one.release()
  expect((await answers[0])?.status).toBe(200)
  await stream.heard('event: release')
  stream.close()
})

test('every one of three event streams is told of a release, and one that is left is given up', async () => {
  const lease = await locks.acquire('streamed')
  const streams = await Promise.all([1, 2, 3].map(() => worker.stream('key=streamed')))
  for (const stream of streams) await stream.heard('data: {"key":"streamed","held":true')
  await worker.opened('streams', 3)
  await lease.release()
  for (const stream of streams) await stream.heard('event: release')
  for (const stream of streams) stream.close()
  await worker.opened('streams', 0)
})

test('a long poll of a lock that stays held ends with 204 and the cursor of the present holder', async () => {
  await using _ = await locks.acquire('stays')
  const response = await worker.wait('stays', '1700000000000000', '&timeout=2s')
  expect([response.status, response.headers.get('leasehold-cursor')]).toEqual([204, await cursorOf('stays')])
})

test('a long poll is answered when its holder has died', async () => {
  await locks.acquire('dies', { renew: false, ttl: '2s' })
  const diesAt = performance.now() + 2_000
  expect((await worker.wait('dies', await cursorOf('dies'))).status).toBe(200)
  // Much less than the poll's own 25 s.
  expect(performance.now() - diesAt).toBeLessThan(10_000)
})

test('a long poll that a Worker gives up is given up by the object', async () => {
  await using _ = await locks.acquire('left')
  const leaving = worker.get(`/test/leave?key=left&since=${await cursorOf('left')}`)
  await worker.opened('waits', 1)
  expect(await (await leaving).text()).toBe('left')
  await worker.opened('waits', 0)
})

test('those who wait while Redis dies and comes back are told what has become of their lock', async () => {
  await locks.acquire('forgotten', { renew: false })
  const answer = worker.wait('forgotten', await cursorOf('forgotten'))
  const stream = await worker.stream('key=forgotten')
  await stream.heard('data: {"key":"forgotten","held":true')
  await worker.opened('waits', 1)
  await server.kill()
  await server.restart()
  await bridgeUser(server)
  expect((await answer).status).toBe(200)
  await stream.heard('event: release')
  stream.close()
  expect(await connectionsOf(server)).toHaveLength(2)
})

test('while Redis is away waiters are sent off, and once it is back they are served again', async () => {
  await locks.acquire('away', { renew: false })
  const answer = worker.wait('away', await cursorOf('away'))
  const stream = await worker.stream('key=away')
  await worker.opened('waits', 1)
  await server.kill()
  const { status, headers } = await answer
  expect([status, headers.get('retry-after')]).toEqual([503, '1'])
  await expect(stream.heard('event: release')).rejects.toThrow('has ended')
  expect((await worker.get('/readyz')).status).toBe(503)

  await server.restart()
  await bridgeUser(server)
  await expect.poll(async () => (await worker.get('/readyz')).status).toBe(200)
  expect((await worker.wait('away', '-')).status).toBe(200)
})

test('an object that is replaced sends its waiters off with a 503, and the next one serves them', async () => {
  await using lease = await locks.acquire('moved')
  const cursor = await cursorOf('moved')
  const sentOff = worker.wait('moved', cursor)
  await worker.opened('waits', 1)
  expect((await worker.get('/healthz', { 'test-replace': 'now' })).status).toBe(503)
  const { status, headers } = await sentOff
  expect([status, headers.get('retry-after')]).toEqual([503, '1'])

  const answer = worker.wait('moved', cursor)
  await expect.poll(() => connectionsOf(server)).toHaveLength(2)
  await lease.release()
  expect((await answer).status).toBe(200)
  expect(await subscribers()).toBe(1)
})

test('nothing of all this is worth a word in the log of the Worker', () => {
  expect(worker.complaints).toEqual([])
})

test('a mistake in the object fails the request, and is not taken for an object that is away', async () => {
  expect((await worker.get('/healthz', { 'test-mistake': 'yes' })).status).toBe(500)
})
