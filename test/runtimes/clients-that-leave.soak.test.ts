import { createLocker, type Locker, poll } from '@leasehold/core'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { fetchStore } from '@leasehold/upstash'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { elapse, eventually } from '../support/scale.ts'
import { startWorker, type Worker } from './worker.ts'

/*
 * T-43: a Worker works under a lock for 20 s, and its client leaves after one. `watchdog-and-workers.test.ts` has a
 * short form, also for leases that an object renews.
 */

const ttlMs = 3_000
/** When the client leaves. */
const leavesAfterMs = 1_000
/** What renewals, releases and the waiter's polls may take. */
const slackMs = 1_500

let gateway: TestGateway
let others: Locker
beforeAll(async () => {
  gateway = await startTestGateway()
  others = createLocker({
    store: fetchStore({ url: gateway.url, token }),
    wait: '15s',
    ttl: '1m',
    strategy: poll({ every: '100ms' }),
  })
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** Between the Worker and the gateway; the waiter goes around it. */
let network: HttpProxy
let worker: Worker
beforeEach(async () => {
  network = await startHttpProxy({ target: gateway.url })
  const access = { url: network.url, token }
  worker = await startWorker({ entry: 'scoped-run.ts', flags: ['enable_request_signal'], gateway: access })
})
afterEach(async () => {
  await worker[Symbol.asyncDispose]()
  await network.stop()
})

const sent = (): number => network.requests['/'] ?? 0
const held = async (key: string): Promise<boolean> => (await others.inspect(key)).held

/** Waits for the lock while its holder's client leaves. Resolves with how long after that the waiter had it. */
async function freedAfterMs(key: string, leave: () => void): Promise<number> {
  const next = others.acquire(key)
  await elapse(leavesAfterMs)
  expect(await held(key)).toBe(true)
  const left = performance.now()
  leave()
  await using _ = await next
  const tookMs = performance.now() - left
  // Nothing goes on for the Worker's lease, and its successor's is left alone.
  const before = sent()
  await elapse(2 * ttlMs)
  expect([sent() - before, worker.complaints]).toEqual([0, []])
  return tookMs
}

test('T-43: its context ends, and the lock with the lease', async () => {
  const cut = await worker.connect('/bytes?key=cut')
  const tookMs = await freedAfterMs('cut', cut)
  console.log(`the client has left: free after ${Math.round(tookMs)} ms`)
  expect(tookMs).toBeLessThan(ttlMs + slackMs)
})

test('T-43: told of it by the signal of its request, it releases the lock at once', async () => {
  const asking = worker.ask('/as-client?key=told')
  await worker.gates.arrival('leave-told')
  await eventually(() => held('told'))
  const tookMs = await freedAfterMs('told', () => worker.gates.open('leave-told'))
  console.log(`the Worker was told: free after ${Math.round(tookMs)} ms`)
  expect(tookMs).toBeLessThan(slackMs)
  expect(await asking).toMatchObject({ body: 'left' })
})

test('a lock whose client stays is held for all of the 20 s', async () => {
  const working = worker.ask('/told?key=stays')
  await eventually(() => held('stays'))
  await expect(others.acquire('stays')).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
  expect(await working).toMatchObject({ body: 'worked' })
})
