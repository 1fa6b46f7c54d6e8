import { createLocker, type Lease, type Locker } from '@leasehold/core'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { fetchStore } from '@leasehold/upstash'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'

/* One HTTP request for many calls, whose answer is lost or which arrives twice. */

let gateway: TestGateway
let proxy: HttpProxy
let locks: Locker
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(async () => {
  await gateway.server.command('FLUSHALL')
  proxy = await startHttpProxy({ target: gateway.url })
  locks = createLocker({ store: fetchStore({ url: proxy.url, token }) })
  // The server knows the scripts from now on.
  await (await locks.acquire('warm-up')).release()
})
afterEach(async () => {
  await locks.close({ grace: 0 })
  await proxy.stop()
})

const keys = Array.from({ length: 50 }, (_, index) => `k${index}`)
const acquireAll = (): Promise<Lease[]> => Promise.all(keys.map((key) => locks.acquire(key)))
const releaseAll = (leases: readonly Lease[]): Promise<string[]> => Promise.all(leases.map((lease) => lease.release()))
const stored = (): Promise<unknown> => gateway.server.command('MGET', ...keys.map((key) => `lock:${key}`))

/** What may happen to one request, and how many commands each of its calls then needs. */
const mishaps: readonly (readonly [string, (proxy: HttpProxy) => unknown, commands: number])[] = [
  ['whose answer is lost', (proxy) => proxy.dropNextReply('cut'), 2],
  ['that arrives twice, answered by the first,', (proxy) => proxy.duplicateNext('first'), 1],
  ['that arrives twice, answered by the last,', (proxy) => proxy.duplicateNext('last'), 1],
]

it.each(mishaps)('a request %s grants each of 50 exactly one lease', async (_, befall, commands) => {
  void befall(proxy)
  const leases = await acquireAll()
  expect(leases.map((lease) => lease.commands)).toEqual(leases.map(() => commands))
  expect(await stored()).toEqual(leases.map(({ token }) => token))
  expect(new Set(await releaseAll(leases))).toEqual(new Set(['released']))
  expect(await stored()).toEqual(keys.map(() => null))
})

it.each(mishaps)('a request %s gives 50 leases back, and each is told so', async (_, befall) => {
  const leases = await acquireAll()
  void befall(proxy)
  expect(new Set(await releaseAll(leases))).toEqual(new Set(['released']))
  expect(await stored()).toEqual(keys.map(() => null))
})
