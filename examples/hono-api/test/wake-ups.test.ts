import { createLocker, type Lease } from '@leasehold/core'
import { type Bridge, startBridge } from '@leasehold/example-local/bridge'
import { startGateway } from '@leasehold/example-local/gateway'
import { ioredisStore } from '@leasehold/ioredis'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, post, startNode, startShopWorker } from './shops.ts'

/** Long enough for a polling waiter to ask several times: its pauses grow to a second. */
const watchedMs = 1_500
/** A waiter relies on the bridge for half a minute, and a call waits for 10 s: a waiter that got the lock was woken. */
const busy = { ttl: '60s', renew: false } as const

let stack: AsyncDisposableStack
let redis: RedisServer
let bridge: Bridge
/** All commands to Redis over HTTP pass here. */
let gateway: HttpProxy
let hold: (key: string) => Promise<Lease>
let rest: Readonly<Record<'REDIS_URL' | 'REDIS_TOKEN', string>>
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  redis = stack.use(await startRedis())
  const { url: target, token } = stack.use(await startGateway(redis.url))
  gateway = stack.use(await startHttpProxy({ target }))
  bridge = stack.use(await startBridge(redis.url))
  rest = { REDIS_URL: gateway.url, REDIS_TOKEN: token }
  const client = new Redis(redis.url).on('error', () => undefined)
  stack.defer(() => client.disconnect())
  const locks = createLocker({ store: ioredisStore(client) })
  hold = (key) => locks.acquire(key, busy)
})
afterAll(() => stack.disposeAsync())

/** The waiters at the bridge: a Worker by long polls, Node by an event stream. */
const waiting = async (): Promise<number> => {
  const page = await bridge.metrics()
  const open = page.matchAll(/^leasehold_bridge_(?:waits|streams) (\d+)$/gm)
  return Array.from(open, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0)
}

/**
 * Sends an order whose lock another holds. Resolves with how many commands the order sent while it waited, and with the
 * answer.
 */
async function waitFor(url: string, orderId: string, begins: () => Promise<unknown>): Promise<[number, Answer]> {
  const held = await hold(`order:${orderId}`)
  const answer = post(`${url}/api/orders/process`, { orderId, userId: 'u-1', productId: 'p-1', quantity: 1 })
  await begins()
  const before = gateway.requests['/'] ?? 0
  await new Promise((resolve) => setTimeout(resolve, watchedMs))
  const sent = (gateway.requests['/'] ?? 0) - before
  await held.release()
  return [sent, await answer]
}

const shops = {
  'the Worker': async (env: Readonly<Record<string, string>>) =>
    stack.use(await startShopWorker({ COUPONS: 'launch:3', ...env })).url,
  'Node, over HTTP': async (env: Readonly<Record<string, string>>) => stack.use(await startNode(env)).url,
}

describe.each(Object.entries(shops))('%s', (name, start) => {
  const orderId = name.replace(/\W+/g, '-')

  test('waits through a bridge without a command, and a release elsewhere wakes it', async () => {
    const url = await start({ ...rest, BRIDGE_URL: bridge.url, BRIDGE_TOKEN: bridge.token })
    const begins = (): Promise<void> => expect.poll(waiting).toBe(1)
    expect(await waitFor(url, orderId, begins)).toEqual([0, expect.objectContaining({ status: 201 })])
    await expect.poll(waiting).toBe(0)
  })

  test('polls without a bridge', async () => {
    const url = await start(rest)
    const asks = (): Promise<unknown> => gateway.nextRequest()
    const [sent, { status }] = await waitFor(url, `${orderId}-2`, asks)
    expect([sent > 2, status]).toEqual([true, 201])
  })
})

test('a token that the bridge does not know is told of in the log, and the Worker polls', async () => {
  const log: string[] = []
  const bindings = { ...rest, COUPONS: 'launch:3', BRIDGE_URL: bridge.url, BRIDGE_TOKEN: 'of-another-bridge' }
  await using worker = await startShopWorker(bindings, (line) => log.push(line))
  const told = (): Promise<void> => expect.poll(() => log).toEqual(['The bridge answered 401'])
  const [sent, { status }] = await waitFor(worker.url, 'wrong-token', told)
  expect([sent > 0, status]).toEqual([true, 201])
})
