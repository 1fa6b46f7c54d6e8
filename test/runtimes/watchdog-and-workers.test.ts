import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocker, type Locker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { elapse, eventually } from '../support/scale.ts'
import { startWorker, type Worker } from './worker.ts'

/*
 * Worker and object in real time; each key has its own object. A lease has a ttl of 3 s, and after its Worker's request
 * it is renewed for 1 s more.
 */

const ttlMs = 3_000
const graceMs = 1_000
/** How soon the lock must be free once its Worker's request has ended: a renewal may come at the end of the grace. */
const freeWithinMs = ttlMs + graceMs + 2_000

let gateway: TestGateway
let worker: Worker
let others: Locker
const start = (storage?: string): Promise<Worker> =>
  startWorker({
    entry: 'delegating.ts',
    gateway: { url: gateway.url, token },
    objects: { WATCHDOG: 'LeaseWatchdog' },
    ...(storage && { storage }),
  })
beforeAll(async () => {
  gateway = await startTestGateway()
  worker = await start()
  others = createLocker({ store: fetchStore({ url: gateway.url, token }), wait: '20s' })
})
afterAll(async () => {
  await worker[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})

const status = async (key: string, of = worker): Promise<object> => (await of.ask(`/status?key=${key}`)).body as object
const linked = (key: string, count: number, of?: Worker): Promise<void> =>
  // Not with `expect.poll`, which has to know its test: these run side by side.
  eventually(async () => ((await status(key, of)) as { readonly linked?: unknown }).linked === count)

/** Lets a Worker hold a lock for longer than its ttl. */
async function holding(key: string, end: string, of = worker): Promise<{ readonly answer: Promise<unknown> }> {
  const answer = of.ask(`/hold?key=${key}&end=${end}`)
  answer.catch(() => undefined)
  await of.gates.arrival(key)
  await linked(key, 1, of)
  await elapse(ttlMs + 1_000)
  expect(await others.tryAcquire(key)).toBeNull()
  return { answer }
}

/** How long another caller waits for the lock from now on. */
async function waited(key: string): Promise<number> {
  const lease = await others.acquire(key)
  await lease.release()
  return lease.waitedMs
}

describe.concurrent('a lease that an object renews', () => {
  test('a lease is kept while the request goes on, and is over with its release', async () => {
    const { answer } = await holding('released', 'release')
    worker.gates.open('released')
    expect(await answer).toMatchObject({ status: 200, body: { lost: false } })
    expect(await status('released')).toMatchObject({ leases: 0, nextDueAt: null })
    expect(await waited('released')).toBeLessThan(1_000)
  })

  test.each(['return', 'throw'])(
    'a Worker that ends without a release (%s) is noticed, and the ttl frees the lock',
    async (end) => {
      const { answer } = await holding(end, end)
      worker.gates.open(end)
      await answer
      await linked(end, 0)
      expect(await waited(end)).toBeLessThan(freeWithinMs)
      expect(await status(end)).toMatchObject({ leases: 0, nextDueAt: null })
    },
  )

  test('T-43: so is one whose client has left', async () => {
    const cut = await worker.connect('/stream?key=left')
    await linked('left', 1)
    await elapse(ttlMs + 1_000)
    expect(await others.tryAcquire('left')).toBeNull()
    cut()
    await linked('left', 0)
    expect(await waited('left')).toBeLessThan(freeWithinMs)
  })

  test('T-43: a lease that is renewed within the request ends with it, too', async () => {
    const cut = await worker.connect('/stream?key=left-plain&plain')
    await elapse(ttlMs + 1_000)
    expect(await others.tryAcquire('left-plain')).toBeNull()
    cut()
    expect(await waited('left-plain')).toBeLessThan(ttlMs + 2_000)
  })

  test('what waitUntil has keeps the lease, and its release ends it', async () => {
    const { answer } = await holding('later', 'wait-until')
    expect(await answer).toMatchObject({ body: 'answered' })
    worker.gates.open('later')
    expect(await waited('later')).toBeLessThan(2_000)
  })

  test('work behind a key is renewed by the object for longer than its ttl: one run, and every retry gets its answer', async () => {
    const record = 'idempotency:shop:long'
    const pay = (): Promise<Response> =>
      fetch(`${worker.url}/payments`, { method: 'POST', headers: { 'idempotency-key': 'long' }, body: '' })
    const first = pay()
    await worker.gates.arrival(record)
    await linked(record, 1)
    await elapse(2 * ttlMs)
    expect(await status(record)).toMatchObject({ leases: 1, unanswered: 0, lastRequest: { leases: 1, trouble: null } })
    const duplicate = await pay()
    expect([duplicate.status, await duplicate.json()]).toMatchObject([409, { type: '/problems/in-progress' }])
    worker.gates.open(record)
    const answer = await first
    expect([answer.status, answer.headers.get('idempotency-recorded')]).toEqual([201, null])
    const retry = await pay()
    expect([retry.status, retry.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect(await retry.text()).toBe(await answer.text())
    expect(await status(record)).toMatchObject({ leases: 0, nextDueAt: null })
  })

  test('leases survive a restart of the runtime, whose alarm comes without a request; nobody links again, so the ttl frees them', async () => {
    const storage = await mkdtemp(join(tmpdir(), 'leasehold-'))
    const before = await start(storage)
    await holding('restarted', 'return', before)
    await before[Symbol.asyncDispose]()
    const after = await start(storage)
    const waiting = waited('restarted')
    expect(await status('restarted', after)).toMatchObject({ leases: 1, linked: 0 })
    expect(await waiting).toBeLessThan(freeWithinMs)
    expect(await status('restarted', after)).toMatchObject({ leases: 0, nextDueAt: null })
    await after[Symbol.asyncDispose]()
    await rm(storage, { recursive: true })
  })
})
