import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { elapse } from '../support/scale.ts'
import { startWorker, type Worker, type WorkerOptions } from './worker.ts'

/*
 * Two requests of one isolate overlap, and use one locker at its module scope. A timer or a promise that the first has
 * started ends or hangs when the first returns, so the second must not depend on it.
 */

/** A holder is renewed every third of it, however busy the machine: seven Workers and their gateway run at a time. */
const ttlMs = 6_000
const pastTtlMs = 6_500

/** Newer runtimes move a promise's continuation to the request that waits for it; older ones leave it hanging. */
const runtimes = [
  ['a runtime of today', []],
  ['a runtime that carries no promise between requests', ['no_handle_cross_request_promise_resolution']],
] as const

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const stored = (key: string): Promise<unknown> => gateway.server.command('GET', `lock:${key}`)
async function start(options: Pick<WorkerOptions, 'conditions' | 'flags' | 'instead'>): Promise<Worker> {
  const worker = await startWorker({ entry: 'holder.ts', gateway: { url: gateway.url, token }, ...options })
  worker.gates.open('contended')
  return worker
}
/** One request, which stops at the gate with its name while it holds the lock. */
const hold = (worker: Worker, name: string, key: string, { ttl = ttlMs, wait = 60_000, leave = false } = {}) =>
  worker.ask(`/${name}?key=${encodeURIComponent(key)}&ttl=${ttl}&wait=${wait}${leave ? '&leave' : ''}`)

describe.concurrent.each([
  ['with the export condition', ['workerd'], false],
  ['without it, by asking where it runs', [], true],
] as const)('bundled %s', (bundled, conditions, asks) => {
  describe.each(runtimes)('on %s', (runtime, flags) => {
    /** All of these run at the same time, on one Redis. */
    const key = (name: string): string => `${bundled} ${runtime} ${name}`
    let worker: Worker
    beforeAll(async () => {
      worker = await start({ conditions, flags })
    })
    afterAll(() => worker[Symbol.asyncDispose]())

    test(`the bundle ${asks ? 'asks' : 'need not ask'} where it runs`, () => {
      expect(worker.bundle.includes('Cloudflare-Workers')).toBe(asks)
    })

    test('two requests that hold a lock each are both renewed, also the one that is left alone', async () => {
      const first = hold(worker, 'first', key('one'))
      await worker.gates.arrival('first')
      const second = hold(worker, 'second', key('two'))
      await worker.gates.arrival('second')
      const tokens = [await stored(key('one')), await stored(key('two'))]
      await elapse(pastTtlMs)
      expect([await stored(key('one')), await stored(key('two'))]).toEqual(tokens)

      worker.gates.open('first')
      expect(await first).toMatchObject({ status: 200, body: { told: false, ended: 'released' } })
      await elapse(pastTtlMs)
      expect(await stored(key('two'))).toBe(tokens[1])

      worker.gates.open('second')
      expect(await second).toMatchObject({ status: 200, body: { told: false, ended: 'released' } })
      expect(worker.complaints).toEqual([])
    })

    test('a request that waits for the lock of another gets it when that returns, and is renewed', async () => {
      const holder = hold(worker, 'holder', key('shared'))
      await worker.gates.arrival('holder')
      const waiter = hold(worker, 'waiter', key('shared'))
      const held = await stored(key('shared'))
      await elapse(pastTtlMs)
      expect(await stored(key('shared'))).toBe(held)

      worker.gates.open('holder')
      expect(await holder).toMatchObject({ status: 200, body: { told: false, ended: 'released' } })
      await worker.gates.arrival('waiter')
      const passedOn = await stored(key('shared'))
      expect(passedOn).not.toBe(held)
      await elapse(pastTtlMs)
      expect(await stored(key('shared'))).toBe(passedOn)

      worker.gates.open('waiter')
      expect(await waiter).toMatchObject({ status: 200, body: { told: false, ended: 'released' } })
      expect(worker.complaints).toEqual([])
    })

    test('a lease that a request leaves behind is renewed by nobody, and ends with its ttl', async () => {
      const leaving = hold(worker, 'leaving', key('left'), { leave: true })
      await worker.gates.arrival('leaving')
      await elapse(pastTtlMs)
      expect(await stored(key('left'))).not.toBeNull()
      worker.gates.open('leaving')
      expect(await leaving).toMatchObject({ status: 200 })
      await elapse(pastTtlMs)
      expect(await stored(key('left'))).toBeNull()
      expect(worker.complaints).toEqual([])
    })
  })
})

describe.concurrent('a locker that is forced to share', () => {
  const byForce = 'sharing-by-force.ts'
  const instead = { '#sharing': byForce, '#renewal-lanes': byForce, '#shared-queue': byForce }

  test.each(runtimes)(
    'leaves the second request without renewal when the first has returned, on %s',
    async (_, flags) => {
      await using worker = await start({ instead, flags })
      const key = `forced-${flags.length}`
      // Due before the second's renewal whatever the jitter, so that the timer belongs to the first.
      const first = hold(worker, 'first', `${key}-one`, { ttl: ttlMs / 3 })
      await worker.gates.arrival('first')
      const second = hold(worker, 'second', `${key}-two`)
      await worker.gates.arrival('second')
      worker.gates.open('first')
      expect(await first).toMatchObject({ body: { ended: 'released' } })
      await elapse(pastTtlMs)
      expect(await stored(`${key}-two`)).toBeNull()
      worker.gates.open('second')
      // Nor does it learn of the loss: the timer that would report it has gone with the first request, too.
      expect(await second).toMatchObject({ body: { told: false, ended: 'expired' } })
    },
  )

  test('hangs a request that waits for another’s lock, on a runtime that carries no promise between requests', async () => {
    await using worker = await start({ instead, flags: ['no_handle_cross_request_promise_resolution'] })
    const holder = hold(worker, 'holder', 'forced')
    await worker.gates.arrival('holder')
    const wanted = worker.gates.arrival('waiter').then(() => 'holds')
    const waiter = hold(worker, 'waiter', 'forced', { wait: 3_000 })
    await worker.gates.arrival('contended')
    worker.gates.open('holder')
    await holder
    const { status, body } = (await Promise.race([waiter, wanted])) as { status: number; body: string }
    expect([status, body]).toEqual([500, expect.stringContaining('code had hung')])
  })
})
