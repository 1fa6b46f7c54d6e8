import { createLocker, type Locker } from '@leasehold/core'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { fetchStore } from '@leasehold/upstash'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { type BridgeProgram, startBridgeProgram } from '../../packages/bridge/test/program.ts'
import { startWorker, type Worker } from './worker.ts'

/* T-42: Workers that wait 30 s for a lock that is held. `watchdog/request-scope.test.ts` has the short form. */

const waitMs = 30_000
/** A waiter without a notifier pauses for 0.5 s at least, once it has backed off, and asks seven times before that. */
const mostCommands = 7 + waitMs / 500
/** A budget that no waiter uses up. */
const ample = 100

/** How a wait or a try ended. */
interface End {
  readonly code: string
  readonly option?: string
  readonly message?: string
  readonly waitedMs?: number
}

interface Waits {
  /** How many commands the waits took. */
  readonly waited: number
  readonly ends: readonly End[]
  /** How a try for a free lock ended, after the waits, and how many commands that took. */
  readonly after: End
  readonly tried: number
}

let gateway: TestGateway
let bridge: BridgeProgram
/** Stands between the second Worker and the bridge. */
let way: HttpProxy
let polling: Worker
let bridged: Worker
let others: Locker
beforeAll(async () => {
  gateway = await startTestGateway()
  bridge = await startBridgeProgram(gateway.server.url)
  way = await startHttpProxy({ target: bridge.url })
  const access = { url: gateway.url, token }
  polling = await startWorker({ entry: 'long-wait.ts', gateway: access })
  const woken = { url: way.url, token: bridge.token, mode: 'long-poll' } as const
  bridged = await startWorker({ entry: 'long-wait.ts', gateway: access, bridge: woken })
  others = createLocker({ store: fetchStore(access), ttl: '5m', renew: false })
  // So that the server knows the scripts, and a command is one request.
  await others.withLock('warm', async () => undefined)
})
afterAll(async () => {
  for (const each of [bridged, polling, way, bridge, gateway]) await each[Symbol.asyncDispose]()
})

async function waits(key: string, waiters: number, budget: number, worker = polling): Promise<Waits> {
  const { status, body } = await worker.ask(`/?key=${key}&waiters=${waiters}&budget=${budget}`)
  expect(status).toBe(200)
  return body as Waits
}

const timedOut = { code: 'ACQUIRE_TIMEOUT' }
const outOfBudget = { ...timedOut, message: expect.stringContaining('bridge') }
const refused = { code: 'INVALID_OPTION', option: 'budget', message: expect.stringContaining('bridge') }

describe.concurrent('T-42: a Worker that waits 30 s for a lock', () => {
  test('takes tens of commands, alone or as one of ten requests', async () => {
    await using _ = await others.acquire('held')
    const all = await Promise.all(Array.from({ length: 11 }, () => waits('held', 1, ample)))
    console.log(`30 s without a bridge: ${all.map(({ waited }) => waited).join(', ')} commands`)
    for (const { waited, ends } of all) {
      expect(ends).toMatchObject([timedOut])
      expect(ends[0]?.waitedMs).toBeGreaterThanOrEqual(waitMs)
      expect(waited).toBeGreaterThan(10)
      expect(waited).toBeLessThanOrEqual(mostCommands)
    }
  })

  test.each([1, 10])(
    'with a budget of ten and %d waiters is told that it did not get the lock, and of the bridge',
    async (count) => {
      await using _ = await others.acquire(`held-by-${count}`)
      const { waited, ends, after, tried } = await waits(`held-by-${count}`, count, 10)
      console.log(
        `a budget of 10, waiters: ${count}, commands: ${waited}, ms: ${ends.map(({ waitedMs }) => waitedMs).join(', ')}`,
      )
      expect(ends).toMatchObject(ends.map(() => outOfBudget))
      for (const { waitedMs } of ends) expect(waitedMs).toBeLessThan(waitMs)
      expect(waited).toBeGreaterThanOrEqual(10)
      // Each waiter whose last command had started when the budget ran out was answered.
      expect(waited).toBeLessThan(10 + count)
      expect([after, tried]).toMatchObject([refused, 0])
    },
  )

  test('takes as few commands as are documented when the bridge is to wake it', async () => {
    await using _ = await others.acquire('held-bridged')
    const { waited, ends } = await waits('held-bridged', 1, ample, bridged)
    console.log(`30 s with a bridge: ${waited} commands, ${way.requests['/v1/wait']} polls`)
    expect(ends).toMatchObject([timedOut])
    expect(ends[0]?.waitedMs).toBeGreaterThanOrEqual(waitMs)
    // Two, and one for each 30 s; and a poll for each 25 s.
    expect(waited).toBeLessThanOrEqual(3)
    expect(way.requests['/v1/wait']).toBe(2)
  })
})
