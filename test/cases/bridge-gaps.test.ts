import { createLocker, type Lease, type Locker, type WaitStrategy } from '@leasehold/core'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startTestBridge, type TestBridge, bridgeToken as token } from '../../packages/bridge/test/bridge.ts'
import { type BridgeFetch, bridgeNotifier } from '../../packages/bridge-client/src/index.ts'
import { elapse, limit, ms, rounds } from '../support/scale.ts'

/** A waiter with this strategy is woken by the bridge or not at all. */
const never: WaitStrategy = { delayMs: () => 3_600_000 }
const modes = ['sse', 'long-poll'] as const
type Mode = (typeof modes)[number]

let bridge: TestBridge
/** Stands between the clients and the bridge, where `bridge.clients` stands for the wire. */
let proxy: HttpProxy
beforeAll(async () => {
  bridge = await startTestBridge()
  proxy = await startHttpProxy({ target: bridge.url })
})
afterAll(async () => {
  await proxy.stop()
  await bridge[Symbol.asyncDispose]()
})

const lockers: Locker[] = []
afterEach(async () => {
  for (const locker of lockers.splice(0)) await locker.close({ grace: 0 })
})

/**
 * Starts to wait for a held key, and resolves when the bridge is heard; the result is in an object, so it is not
 * awaited.
 */
async function waitFor(
  key: string,
  mode: Mode,
  url = bridge.url,
  fetch?: BridgeFetch,
): Promise<{ got: Promise<Lease> }> {
  const notifier = bridgeNotifier({ url, token, mode, ...(fetch && { fetch }) })
  const locker = createLocker({ store: bridge.store, notifier, wait: '60s', recheck: '5m', strategy: never })
  lockers.push(locker)
  const got = locker.acquire(key)
  await opened(mode)
  if (mode === 'sse') {
    // Over the same stream. Where there is none, a poll counts as heard once it is sent.
    const also = notifier.subscribe(key, '-')
    await also.ready
    also.close()
  }
  return { got }
}

const hold = (key: string): Promise<Lease> => bridge.locks.acquire(key, { ttl: '120s', renew: false })
const opened = (mode: Mode, count = 1): Promise<void> => bridge.opened(mode === 'sse' ? 'streams' : 'waits', count)

/** Milliseconds until the promise settles. */
async function timeOf(settles: Promise<unknown>): Promise<number> {
  const start = performance.now()
  await settles
  return performance.now() - start
}

describe.each(modes)('T-48, by %s', (mode) => {
  const cutMs = ms(3_000, 1_200)
  /** Longer than the 5 s for which the bridge remembers a key that nobody waits for. */
  const forgottenMs = ms(7_000, 6_000)

  /** Cuts the connection for `lengthMs`, and releases the lock `releaseAtMs` after the cut began. */
  async function cutFor(lengthMs: number, held: Lease, releaseAtMs: number): Promise<void> {
    bridge.clients.refuse()
    bridge.clients.cut()
    await opened(mode, 0)
    await elapse(releaseAtMs)
    await held.release()
    await elapse(lengthMs - releaseAtMs)
    await bridge.clients.accept()
  }
  /** How long after reconnecting the waiter got the lock; 0 if it checked by itself before that. */
  async function timeSinceBack(acquiring: Promise<Lease>): Promise<number> {
    const early = await Promise.race([acquiring, opened(mode)])
    return early ? 0 : timeOf(acquiring)
  }

  test('what is released while the connection is cut is acquired within a second of being connected again', async () => {
    const key = `${mode}-cut`
    const held = await hold(key)
    const { got } = await waitFor(key, mode)
    await cutFor(cutMs, held, cutMs / 3)
    expect(await timeSinceBack(got)).toBeLessThan(limit(1_000))
    // One of them is a try of its own, when reconnecting to the bridge failed.
    expect((await got).commands).toBeLessThanOrEqual(3)
  })

  test('what the bridge has forgotten in the meantime is acquired as soon', async () => {
    const key = `${mode}-forgotten`
    const held = await hold(key)
    const { got } = await waitFor(key, mode)
    await cutFor(forgottenMs, held, forgottenMs / 2)
    expect(await timeSinceBack(got)).toBeLessThan(limit(1_000))
    // It had checked by itself before the release, so the bridge told it of the release.
    expect((await got).commands).toBe(3)
  })

  test('a waiter with the cursor of a holder long gone is told that the lock is free, or waits for its holder', async () => {
    const key = `${mode}-old`
    const notifier = bridgeNotifier({ url: bridge.url, token, mode })
    const free = notifier.subscribe(key, '1700000000000000')
    expect(await timeOf(new Promise<void>((resolve) => free.onSignal(0, resolve)))).toBeLessThan(limit(1_000))
    free.close()
    await opened(mode, 0)

    const held = await hold(key)
    const taken = notifier.subscribe(key, '1700000000000000')
    await taken.ready
    await opened(mode)
    await elapse(ms(1_000))
    expect([taken.live, taken.signals]).toEqual([true, 0])
    const told = new Promise<void>((resolve) => taken.onSignal(0, resolve))
    await held.release()
    expect(await timeOf(told)).toBeLessThan(limit(1_000))
    taken.close()
    await notifier.close()
  })
})

test('T-48: what is released between two long polls is acquired as soon as the second has come', async () => {
  const pollS = rounds(25, 1)
  const shorter: BridgeFetch = (url, request) => fetch(url.replace('timeout=25s', `timeout=${pollS}s`), request)
  const held = await hold('between')
  const { got } = await waitFor('between', 'long-poll', proxy.url, shorter)
  await proxy.nextReply()
  proxy.delay(1_500, 'toServer')
  await proxy.nextRequest()
  expect(bridge.open('waits')).toBe(0)
  await held.release()
  const lease = await Promise.race([got, proxy.nextReply()])
  // The lock was free the whole time, and nobody checked.
  expect(lease).toBeUndefined()
  expect(await timeOf(got)).toBeLessThan(limit(1_000))
  expect((await got).commands).toBe(2)
  proxy.delay(0)
})
