import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { startWorker, type Worker } from './worker.ts'

let gateway: TestGateway
let proxy: HttpProxy
beforeAll(async () => {
  gateway = await startTestGateway()
  proxy = await startHttpProxy({ target: gateway.url })
})
afterAll(async () => {
  await proxy.stop()
  await gateway[Symbol.asyncDispose]()
})

describe.each([
  ['with the export condition', ['workerd']],
  ['without it', []],
])('a Worker bundled %s', (_, conditions) => {
  let worker: Worker
  beforeAll(async () => {
    worker = await startWorker({
      entry: 'module-scope.ts',
      conditions,
      gateway: { url: proxy.url, token },
      objects: { WATCHDOG: 'LeaseWatchdog' },
    })
  })
  afterAll(() => worker[Symbol.asyncDispose]())

  const use = (store: string, key: string) => worker.ask(`/${store}/${key}`)

  test.each(['fetchStore', 'upstashStore', 'redisStore'])(
    'may make a locker over %s at module scope; an acquire is one request, and so is its release',
    async (store) => {
      worker.gates.open(`${store}/warm`)
      expect(await use(store, 'warm')).toMatchObject({ status: 200 })

      // The server already knows both scripts.
      const before = { ...proxy.requests }
      const sent = (): number => Number(proxy.requests['/']) - Number(before['/'])
      const holding = use(store, 'counted')
      await worker.gates.arrival(`${store}/counted`)
      const stored = String(await gateway.server.command('GET', 'lock:counted'))
      expect(sent()).toBe(1)
      worker.gates.open(`${store}/counted`)
      expect(await holding).toEqual({
        status: 200,
        body: { fence: Number(stored.split('.').at(-1)), ended: 'released', made: true },
      })
      expect(sent()).toBe(2)
      expect(Object.keys(proxy.requests)).toEqual(['/'])
      expect(worker.complaints).toEqual([])
    },
  )

  test('may make a semaphore and a read/write lock at module scope, and wait for a permit that the same request gives back', async () => {
    const answer = { ended: 'released', written: 'released', read: 'released' }
    expect(await worker.ask('/shared')).toEqual({ status: 200, body: answer })
    expect(await worker.ask('/shared')).toEqual({ status: 200, body: answer })
    expect(worker.complaints).toEqual([])
  })

  test('may make one over memory at module scope, which asks nobody', async () => {
    const before = { ...proxy.requests }
    worker.gates.open('memoryStore/own')
    expect(await use('memoryStore', 'own')).toMatchObject({ status: 200, body: { ended: 'released' } })
    expect(proxy.requests).toEqual(before)
  })
})

test('a module that starts something when it is imported would be refused', async () => {
  const started = startWorker({ entry: 'module-scope-timer.ts', gateway: { url: gateway.url, token } })
  await expect(started).rejects.toThrow('Disallowed operation called within global scope')
})
