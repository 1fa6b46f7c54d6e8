import { connectRedisAdmin } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, answerOf, post, postPatiently, type Shops, startNode, startShops } from './shops.ts'

const order = { userId: 'u-1', productId: 'p-1', quantity: 2 }

let shops: Shops
beforeAll(async () => {
  shops = await startShops()
})
afterAll(() => shops[Symbol.asyncDispose]())

/** Sends the same requests to each app, all at once. */
const fromAll = (path: string, bodies: readonly object[], send = postPatiently): Promise<readonly Answer[]> =>
  Promise.all(bodies.flatMap((body) => Object.values(shops.urls).map((url) => send(url + path, body))))

test('over TCP and over HTTP at once, each order is charged once and everybody gets the one result', async () => {
  const ids = Array.from({ length: 8 }, (_, index) => `o-${index}`)
  const answers = await fromAll(
    '/api/orders/process',
    ids.flatMap((orderId) => Array(3).fill({ orderId, ...order })),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(ids.length)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(8 * ids.length)
  for (const id of ids) {
    const results = answers.filter(({ body }) => body['orderId'] === id)
    expect(new Set(results.map(({ body }) => `${body['processedBy']} ${body['fence']}`)).size).toBe(1)
  }
  expect((await shops.effects('charge:o-')).toSorted()).toEqual(ids.map((id) => `charge:${id}`))
})

test('over TCP and over HTTP at once, no coupon goes beyond its limit, and one to each user', async () => {
  const users = Array.from({ length: 12 }, (_, index) => ({ userId: `u-${index}` }))
  const answers = await fromAll('/api/coupons/few/issue', users)
  const issued = answers.filter(({ status }) => status === 201).map(({ body }) => body)
  expect(issued.map(({ number }) => number).sort()).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(new Set(issued.map(({ userId }) => userId)).size).toBe(7)
  expect(answers.filter(({ status }) => status === 410)).toHaveLength(3 * 12 - 3 * 7)
  expect(new Set(await shops.effects('issue:few:')).size).toBe(7)
  expect(await shops.effects('issue:few:')).toHaveLength(7)
})

test('all of them together have one worker for one order', async () => {
  const path = '/api/orders/test-concurrent?orderId=c-1&requests=10'
  const reports = await Promise.all(Object.values(shops.urls).map(async (url) => answerOf(await fetch(url + path))))
  expect(reports.map(({ body }) => body['failed'])).toEqual([{}, {}, {}])
  expect(reports.map(({ body }) => body['worked']).sort()).toEqual([0, 0, 1])
})

test('an order that somebody else has at hand is answered with 409, and when to ask again', async () => {
  await shops.redis.command('SET', 'lock:order:held', 'of another program', 'PX', 60_000)
  for (const { status, headers, body } of await fromAll('/api/orders/process', [{ orderId: 'held', ...order }], post)) {
    expect([status, headers.get('retry-after'), body['type']]).toEqual([409, '1', '/problems/contended'])
  }
})

test('a store that does not answer is a 503, and passes', async () => {
  shops.redis.pause()
  const answers = await fromAll('/api/orders/process', [{ orderId: 'paused', ...order }], post)
  shops.redis.resume()
  for (const { status, headers, body } of answers) {
    expect([status, headers.get('retry-after'), body['type']]).toEqual([503, '2', '/problems/store-unavailable'])
  }
  const again = await fromAll('/api/orders/process', [{ orderId: 'paused', ...order }])
  expect(again.map(({ status }) => status).sort()).toEqual([200, 200, 201])
})

test('on Node it stops in order: running work ends and is answered', async () => {
  const node = await startNode({ REDIS_URL: shops.redis.url })
  // The connection is kept open for a next request, as clients do.
  await post(`${node.url}/api/orders/process`, { orderId: 'kept', ...order })
  // Over one connection, because the lock is held for only 20 ms, and must not be missed.
  await using admin = await connectRedisAdmin({ port: shops.redis.port })
  const running = fetch(`${node.url}/api/orders/test-concurrent?orderId=last&requests=1`)
  await expect.poll(() => admin.command('EXISTS', 'lock:order:last'), { interval: 1 }).toBe(1)
  const code = node.stop()
  expect(await (await running).json()).toMatchObject({ worked: 1 })
  expect([await code, await shops.redis.command('EXISTS', 'lock:order:last')]).toEqual([0, 0])
})
