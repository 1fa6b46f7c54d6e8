import { createLocker, type Lease, type Locker } from '@leasehold/core'
import { fifo } from '@leasehold/core/queue'
import { ioredisStore } from '@leasehold/ioredis'
import { fetchStore, upstashStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { elapse } from '../../../../test/support/scale.ts'
import { bridgeNotifier } from '../../../bridge-client/src/index.ts'
import { bridgeToken } from '../../test/bridge.ts'
import { startTestWorker, type TestWorker } from '../../test/durable-object.ts'
import { startTestGateway, type TestGateway, token } from '../../test/gateway.ts'

/* Lockers that speak only HTTP: to the gateway for their store, and to the object for wake-ups. */

let gateway: TestGateway
let worker: TestWorker
let redis: Redis
/** The locker of a server, over TCP. */
let servers: Locker
beforeAll(async () => {
  gateway = await startTestGateway()
  worker = await startTestWorker({ redisUrl: gateway.server.url, gateway: { url: gateway.url, token } })
  redis = new Redis(gateway.server.url).on('error', () => undefined)
  servers = createLocker({ store: ioredisStore(redis) })
})
afterAll(async () => {
  redis.disconnect()
  await worker[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})

/** Much less than the 30 s after which a waiter checks on its own, in milliseconds. */
const soonMs = 10_000

/** Resolves with how long after the release the waiter got the lock, in milliseconds. */
async function timeFromRelease(from: Lease, waiting: Promise<unknown>): Promise<number> {
  const releasedAt = performance.now()
  await from.release()
  await waiting
  return performance.now() - releasedAt
}

test.each([
  ['fetchStore', 'sse'],
  ['fetchStore', 'long-poll'],
  ['upstashStore', 'sse'],
  ['upstashStore', 'long-poll'],
] as const)('a locker with %s that waits by %s gets the lock when a server releases it', async (kind, mode) => {
  const store = kind === 'fetchStore' ? fetchStore({ url: gateway.url, token }) : upstashStore(gateway.client())
  const notifier = bridgeNotifier({ url: worker.url, token: bridgeToken, mode })
  // The delay is so long that the waiter succeeds only if it is woken.
  const locks = createLocker({ store, notifier, strategy: { delayMs: () => 3_600_000 } })
  const key = `${kind}-${mode}`
  const held = await servers.acquire(key, { ttl: '60s' })
  const waiting = locks.acquire(key, { wait: '15s' })
  await worker.opened(mode === 'sse' ? 'streams' : 'waits', 1)
  const tookMs = await timeFromRelease(held, waiting)
  const lease = await waiting
  console.log(`${key}: ${tookMs.toFixed(1)} ms after the release, ${lease.commands} commands`)
  expect(tookMs).toBeLessThan(soonMs)
  expect(lease.fence).toBeGreaterThan(Number(held.fence))
  expect(lease.commands).toBe(2)
  await lease.release()
  await locks.close()
})

test('a Worker that waits through its own object gets the lock when a server releases it', async () => {
  const held = await servers.acquire('inside', { ttl: '60s' })
  const waiting = worker.get('/test/lock?inside')
  await worker.opened('waits', 1)
  const tookMs = await timeFromRelease(held, waiting)
  console.log(`inside: ${tookMs.toFixed(1)} ms after the release, the lock given back`)
  expect(tookMs).toBeLessThan(soonMs)
  const { fence, commands } = (await (await waiting).json()) as { readonly fence: number; readonly commands: number }
  expect(fence).toBeGreaterThan(Number(held.fence))
  expect(commands).toBe(2)
  expect(worker.complaints).toEqual([])
})

test('Workers that queue through their own object have their turns in order, for two commands each', async () => {
  const held = await servers.acquire('queue', { ttl: '60s', queue: fifo() })
  const order: number[] = []
  const answers: Promise<{ readonly commands: number }>[] = []
  for (let index = 0; index < 5; index++) {
    const answer = worker.get('/test/queue?queue').then(async (response) => {
      order.push(index)
      return (await response.json()) as { readonly commands: number }
    })
    answers.push(answer)
    await expect.poll(() => redis.zcard('{lock:queue}:queue'), { interval: 5 }).toBe(index + 1)
  }
  await worker.opened('waits', 5)
  // Longer than they stay in the queue if nobody keeps their places.
  await elapse(7_000)
  const releasedAt = performance.now()
  await held.release()
  const commands = (await Promise.all(answers)).map((answer) => answer.commands)
  console.log(`queue: five turns in ${(performance.now() - releasedAt).toFixed(0)} ms, ${commands.join(' ')} commands`)
  expect([order, commands]).toEqual([
    [0, 1, 2, 3, 4],
    [2, 2, 2, 2, 2],
  ])
  expect(worker.complaints).toEqual([])
})
