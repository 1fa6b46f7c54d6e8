import { createLocker, type Locker, type LockerEvent, type WaitStrategy } from '@leasehold/core'
import { once } from '@leasehold/core/once'
import { idempotent } from '@leasehold/idempotency'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bridgeToken, startTestBridge, type TestBridge } from '../../packages/bridge/test/bridge.ts'
import { bridgeNotifier } from '../../packages/bridge-client/src/index.ts'

/** A waiter with this strategy is woken by the notifier or not at all. */
const never: WaitStrategy = { delayMs: () => 3_600_000 }
/** Less than the half second after which the bridge tells the next polls about a lock that stays free. */
const atOnceMs = 400

let bridge: TestBridge
/** How many requests have found the first at work. */
let contended = 0
const lockers: Locker[] = []
beforeAll(async () => {
  bridge = await startTestBridge()
})
afterEach(async () => {
  for (const locks of lockers.splice(0)) await locks.close({ grace: 0 })
})
afterAll(() => bridge[Symbol.asyncDispose]())

const locker = (mode: 'sse' | 'long-poll'): Locker => {
  const notifier = bridgeNotifier({ url: bridge.url, token: bridgeToken, mode })
  const onEvent = ({ type }: LockerEvent): void => {
    if (type === 'contended') contended++
  }
  const locks = createLocker({ store: bridge.store, notifier, strategy: never, recheck: '1h', onEvent })
  lockers.push(locks)
  return locks
}

type Work = () => Promise<string>

/**
 * How a caller gets the result of work that others ask for, too. Each returns the result, and whether it came from
 * another run.
 */
const ways = {
  async idempotent(locks: Locker, scope: string, work: Work): Promise<readonly [result: string, isOthers: boolean]> {
    const request = { method: 'POST', headers: { 'idempotency-key': 'k' }, body: 'a' }
    const handle = idempotent({ locks, scope, wait: '20s' })
    const answer = await handle(new Request('https://shop.example/', request), async () => new Response(await work()))
    return [await answer.text(), answer.headers.has('idempotency-replayed')]
  },
  async once(locks: Locker, scope: string, work: Work): Promise<readonly [result: string, isOthers: boolean]> {
    let isOthers = true
    const own: Work = () => {
      isOthers = false
      return work()
    }
    return [await once(locks, `once:${scope}`, own, { wait: '20s' }), isOthers]
  },
}

describe.each(Object.entries(ways))(
  'ten who wait for one result through a bridge are all told at once, by %s',
  (_, ask) => {
    it.each([
      ['over streams', 'sse'],
      ['over polls, each with a notifier of its own as on Workers', 'long-poll'],
    ] as const)('%s', async (_way, mode) => {
      const shared = mode === 'sse' ? locker(mode) : undefined
      const go = Promise.withResolvers<void>()
      const started = Promise.withResolvers<void>()
      const send = (locks: Locker): ReturnType<typeof ask> =>
        ask(locks, mode, async () => {
          started.resolve()
          await go.promise
          return 'paid'
        })
      const first = send(locker(mode))
      await started.promise
      contended = 0
      const waiting = Array.from({ length: 10 }, () => send(shared ?? locker(mode)))
      // The calls of one locker for `once` share a claim.
      const claims = shared && ask === ways.once ? 1 : 10
      await bridge.opened(mode === 'sse' ? 'streams' : 'waits', mode === 'sse' ? 1 : 10)
      await expect.poll(() => contended, { timeout: 5_000 }).toBe(claims)
      go.resolve()
      await first
      const at = performance.now()
      const answers = await Promise.all(waiting)
      const tookMs = performance.now() - at
      expect(answers).toEqual(Array(10).fill(['paid', true]))
      expect(tookMs).toBeLessThan(atOnceMs)
    })
  },
)
