import { createLocker, type Locker } from '@leasehold/core'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { fetchStore } from '@leasehold/upstash'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { elapse } from '../support/scale.ts'
import { startWorker, type Worker } from './worker.ts'

/*
 * A Worker answers while a request to the store that nobody awaits is in flight: the runtime cuts that off silently,
 * unless it was passed to `waitUntil`.
 */

let gateway: TestGateway
let proxy: HttpProxy
let worker: Worker
let others: Locker
beforeAll(async () => {
  gateway = await startTestGateway()
  proxy = await startHttpProxy({ target: gateway.url })
  worker = await startWorker({ entry: 'leaver.ts', gateway: { url: proxy.url, token } })
  others = createLocker({ store: fetchStore({ url: gateway.url, token }) })
})
afterAll(async () => {
  await worker[Symbol.asyncDispose]()
  await proxy.stop()
  await gateway[Symbol.asyncDispose]()
})

/**
 * A Worker that releases its lock without waiting; that takes two requests, since the server has forgotten the script.
 */
async function release(key: string, query: string): Promise<void> {
  const asking = worker.ask(`/release?key=${key}&${query}`)
  await worker.gates.arrival(key)
  await gateway.server.command('SCRIPT', 'FLUSH')
  proxy.delay(300)
  worker.gates.open(key)
  expect(await asking).toMatchObject({ status: 200 })
  proxy.delay(0)
}

test('a release that nobody awaits is carried out when waitUntil has it: another has the lock long before the ttl', async () => {
  await release('handed-over', 'hand-over')
  const lease = await others.acquire('handed-over', { wait: '30s' })
  expect(lease.waitedMs).toBeLessThan(20_000)
  expect(await lease.release()).toBe('released')
  expect(worker.complaints).toEqual([])
})

test('without it the release is cut off in silence, and the lock is held until its ttl is over', async () => {
  await release('cut-off', '')
  await elapse(2_000)
  expect(await others.inspect('cut-off')).toMatchObject({
    held: true,
    expiresInMs: expect.toSatisfy((ms) => ms > 20_000),
  })
  expect(worker.complaints).toEqual([])
})

test('an acquire that was given up while nothing was known is undone when waitUntil has that', async () => {
  // So that one request is one command again.
  await others.withLock('warm', () => undefined)
  const dropped = proxy.dropNextReply('silence')
  const asking = worker.ask('/give-up?key=given-up&hand-over')
  await dropped
  expect(await gateway.server.command('EXISTS', 'lock:given-up')).toBe(1)
  proxy.delay(300)
  expect(await asking).toMatchObject({ status: 200, body: 'TimeoutError' })
  proxy.delay(0)
  const lease = await others.acquire('given-up', { wait: '30s' })
  expect(lease.waitedMs).toBeLessThan(20_000)
  expect(worker.complaints).toEqual([])
})
