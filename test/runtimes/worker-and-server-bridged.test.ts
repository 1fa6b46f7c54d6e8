import { createLocker, type LockerEvent } from '@leasehold/core'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { type HttpProxy, seededRandom, startHttpProxy } from '@leasehold/testkit'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway, token } from '../../packages/bridge/test/gateway.ts'
import { type BridgeProgram, startBridgeProgram } from '../../packages/bridge/test/program.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, ms, rounds } from '../support/scale.ts'
import { judge } from './referee.ts'
import { startWorker, type Worker } from './worker.ts'

/*
 * A Worker, over HTTP and woken through the bridge, and a server, over TCP and woken by Redis, contend for one lock.
 * Neither ever checks by itself: a waiter that is not woken waits until its time is up, as the last test shows.
 */

/** Longer than any wait, except that of a waiter that is not woken. */
const wokenWithinMs = 20_000

let gateway: TestGateway
let bridge: BridgeProgram
/** Stands between the Worker and the bridge. */
let way: HttpProxy
let redis: Redis
beforeAll(async () => {
  gateway = await startTestGateway()
  bridge = await startBridgeProgram(gateway.server.url)
  way = await startHttpProxy({ target: bridge.url })
  redis = quiet(new Redis(gateway.server.url))
})
afterAll(async () => {
  redis.disconnect()
  await way.stop()
  await bridge[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})

describe.each(['long-poll', 'sse'] as const)('by %s', (mode) => {
  let worker: Worker
  beforeAll(async () => {
    const access = { url: way.url, token: bridge.token, mode }
    worker = await startWorker({ entry: 'contender.ts', gateway: { url: gateway.url, token }, bridge: access })
    await redis.del('referee')
  })
  afterAll(() => worker[Symbol.asyncDispose]())

  test(
    'they exclude each other, fences rise, both have their turns, and whoever waits is woken',
    async () => {
      const { random } = seededRandom()
      const count = rounds(1_000, 100)
      let refused = 0
      let longestWaitMs = 0
      const onEvent = (event: LockerEvent): void => {
        if (event.type === 'contended') refused++
        if (event.type === 'acquired') longestWaitMs = Math.max(longestWaitMs, event.waitedMs)
      }
      const notifier = ioredisNotifier(redis)
      const locks = createLocker({ store: ioredisStore(redis), notifier, name: 'server', onEvent })
      const note = (fence: number | null, what: 'in' | 'out') => redis.rpush('referee', `server ${fence} ${what}`)
      const atTheWorker = async (): Promise<void> => {
        expect(await worker.ask('/')).toMatchObject({ status: 200 })
      }
      const atTheServer = (): Promise<void> =>
        locks.withLock(
          'shared',
          { ttl: '2m', wait: '60s', recheck: '5m', strategy: { delayMs: () => 3_600_000 } },
          async ({ fence }) => {
            await note(fence, 'in')
            await note(fence, 'out')
          },
        )
      const path = mode === 'sse' ? '/v1/events' : '/v1/wait'
      const askedBefore = way.requests[path] ?? 0
      // Two calls on either side. Which comes first is random.
      const calls = [atTheWorker, atTheWorker, atTheServer, atTheServer]
      for (let round = 0; round < count; round++) {
        await Promise.all(calls.map((call) => elapse(random() * 10).then(call)))
      }

      const { rounds: done, turns, overlaps, fencesNotRisen } = judge(await redis.lrange('referee', 0, -1))
      const figures = (await worker.ask('/figures')).body as { refused: number; longestWaitMs: number }
      const asked = (way.requests[path] ?? 0) - askedBefore
      console.log(
        `${mode}, ${count} rounds: ${turns} changes of side; refusals: Worker ${figures.refused}, server ${refused}; ` +
          `longest wait: Worker ${figures.longestWaitMs.toFixed()} ms, server ${longestWaitMs.toFixed()} ms; ` +
          `${asked} requests to the bridge`,
      )
      expect({ done, overlaps, fencesNotRisen }).toEqual({
        done: { worker: 2 * count, server: 2 * count },
        overlaps: [],
        fencesNotRisen: [],
      })
      expect(turns).toBeGreaterThanOrEqual(count)
      expect(Math.min(refused, figures.refused)).toBeGreaterThan(count / 4)
      // Every refused waiter asked the bridge, and had an answer long before it would have checked by itself.
      expect(asked).toBeGreaterThanOrEqual(figures.refused)
      expect(Math.max(figures.longestWaitMs, longestWaitMs)).toBeLessThan(wokenWithinMs)
      expect(worker.complaints).toEqual([])
      await locks.close()
    },
    ms(600_000, 240_000),
  )

  test('where the bridge is not heard, the same waiter is never woken', async () => {
    const locks = createLocker({ store: ioredisStore(redis) })
    const take = (wait: number) => worker.ask(`/take?never&key=${mode}&wait=${wait}`)
    const first = await locks.acquire(mode, { ttl: '2m' })
    const heard = way.nextRequest()
    const woken = take(60_000)
    await heard
    await first.release()
    expect(await woken).toMatchObject({ body: { commands: 2 } })

    await using second = await locks.acquire(mode, { ttl: '2m' })
    way.blackHole()
    const unheard = way.nextRequest()
    const left = take(3_000)
    await unheard
    await second.release()
    expect(await left).toMatchObject({ body: { code: 'ACQUIRE_TIMEOUT' } })
    way.cut()
    way.restore()
  })
})
