import { placesOf, type ReleaseNotifier, type Subscription } from '@leasehold/core/adapter'
import { ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ScriptedFetch } from '../../bridge/test/fetch.ts'
import { bridgeNotifier } from './index.ts'

let clock: ManualClock
let bridge: ScriptedFetch
let refusals: number[]
let notifier: ReleaseNotifier

beforeEach(() => {
  clock = new ManualClock()
  bridge = new ScriptedFetch()
  refusals = []
  notifier = bridgeNotifier({
    url: 'https://bridge.example',
    token: 'token',
    mode: 'long-poll',
    fetch: bridge.fetch,
    clock,
    onError: ({ status }) => refusals.push(status),
  })
})
afterEach(async () => {
  vi.unstubAllGlobals()
  await notifier.close()
  await clock.advance(0)
  expect([clock.pending, bridge.open]).toEqual([0, []])
})

/** Subscribes, and lets the request be sent. */
async function subscribed(key: string, cursor = '1'): Promise<Subscription> {
  const subscription = notifier.subscribe(key, cursor)
  await clock.advance(0)
  return subscription
}
const changed = (): void => bridge.last.answers(200, {}, { changed: true })
const lastQuery = (): Record<string, string> => Object.fromEntries(bridge.last.url.searchParams)
/** A waiter that is woken, finds the lock contended, and waits again at once, forever. */
function waitAgainAndAgain(subscription: Subscription): void {
  subscription.onSignal(subscription.signals, () => waitAgainAndAgain(subscription))
}

describe('a poll', () => {
  it('asks at once with the cursor of the contended acquire, and counts as heard', async () => {
    const subscription = await subscribed('a&b', '17')
    expect(bridge.last.url.pathname).toBe('/v1/wait')
    expect(lastQuery()).toEqual({ key: 'a&b', since: '17', timeout: '25s' })
    expect([subscription.live, subscription.signals]).toEqual([true, 0])
  })

  it('for what the holder leaves behind says so, because all who wait for that are to be told at once', async () => {
    notifier.subscribe('a', '17', true)
    await clock.advance(0)
    expect(lastQuery()).toEqual({ key: 'a', since: '17', timeout: '25s', mode: 'result' })
    await clock.advance(25_000)
    bridge.last.answers(204, { 'leasehold-cursor': '18' })
    await clock.advance(0)
    expect(lastQuery()).toMatchObject({ since: '18', mode: 'result' })
  })

  it('signals when the lock has changed, and asks again once somebody waits for the next signal', async () => {
    const subscription = await subscribed('a')
    const callback = vi.fn()
    subscription.onSignal(0, callback)
    changed()
    await clock.advance(60_000)
    expect([subscription.signals, subscription.live, bridge.requests.length]).toEqual([1, true, 1])
    expect(callback).toHaveBeenCalledTimes(1)
    subscription.onSignal(1, callback)
    await clock.advance(0)
    expect(bridge.open).toHaveLength(1)
  })

  it('that ends with nothing new is followed by the next, with the cursor it answered', async () => {
    const subscription = await subscribed('a')
    await clock.advance(25_000)
    bridge.last.answers(204, { 'leasehold-cursor': '2' })
    await clock.advance(0)
    expect(lastQuery()).toEqual({ key: 'a', since: '2', timeout: '25s' })
    expect([subscription.live, subscription.signals]).toEqual([true, 0])
  })

  it('unanswered 5 s after its timeout is not heard any more, until a short one was answered', async () => {
    const subscription = await subscribed('a')
    await clock.advance(29_999)
    expect(subscription.live).toBe(true)
    await clock.advance(1)
    expect([subscription.live, bridge.open]).toEqual([false, []])
    await clock.advance(100)
    expect(lastQuery()['timeout']).toBe('1s')
    await clock.advance(1_000)
    expect([subscription.live, subscription.signals]).toEqual([false, 0])
    bridge.last.answers(204)
    await clock.advance(0)
    expect([subscription.live, subscription.signals, lastQuery()['timeout']]).toEqual([true, 0, '25s'])
  })

  it('that fails twice is a reason to check, once', async () => {
    const subscription = await subscribed('a')
    bridge.last.fail()
    await clock.advance(0)
    expect([subscription.live, subscription.signals]).toEqual([false, 0])
    for (let failure = 0; failure < 5; failure++) {
      await clock.advance(5_000)
      bridge.last.fail()
      await clock.advance(0)
      expect([subscription.live, subscription.signals]).toEqual([false, 1])
    }
  })

  it('ends at once when its subscription is closed, in whatever state', async () => {
    notifier.subscribe('a', '1').close()
    expect([clock.pending, bridge.open]).toEqual([0, []])
    const pausing = await subscribed('a')
    bridge.last.fail()
    await clock.advance(0)
    pausing.close()
    pausing.close()
    expect([clock.pending, bridge.open, pausing.live]).toEqual([0, [], false])
  })

  it.each([
    ['nothing new, at once', () => bridge.last.answers(204)],
    ['a page', () => bridge.last.answers(200, {}, 'welcome')],
    ['no change, at once', () => bridge.last.answers(200, {}, { changed: false })],
    ['an odd change', () => bridge.last.answers(200, {}, { changed: 'yes' })],
    ['null', () => bridge.last.answers(200, {}, null)],
    ['an endless body', () => bridge.last.begins(200).sends('x'.repeat(16_384))],
    ['an error', () => bridge.last.answers(500)],
  ])('that is answered with %s is not repeated without a pause', async (_, answer) => {
    waitAgainAndAgain(await subscribed('a'))
    for (let ms = 0; ms < 60_000; ms += 50) {
      await clock.advance(50)
      if (bridge.last.isOpen) answer()
    }
    expect(bridge.requests.length).toBeLessThan(40)
    expect(bridge.requests.length).toBeGreaterThan(10)
  })

  it('waits as long as a bridge that is busy asks for', async () => {
    await subscribed('a')
    bridge.last.answers(429, { 'retry-after': '30' })
    await clock.advance(0)
    const late = await subscribed('b')
    expect([late.live, bridge.requests.length]).toEqual([false, 1])
    while (bridge.requests.length === 1) await clock.advance(100)
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(30_000)
    expect(clock.monotonicMs()).toBeLessThanOrEqual(37_600)
    expect(bridge.open.map(({ keys }) => keys)).toEqual([['a'], ['b']])
  })

  it.each([401, 403])('refused with %i is told of once and repeated once a minute', async (status) => {
    const subscription = await subscribed('a')
    for (let second = 0; second < 300; second++) {
      if (bridge.last.isOpen) bridge.last.answers(status)
      await clock.advance(1_000)
    }
    expect([subscription.live, subscription.signals, refusals]).toEqual([false, 1, [status]])
    expect(bridge.requests.length).toBeLessThanOrEqual(5)
  })
})

describe('a poll for a key that is forbidden', () => {
  const forbid = (request: ScriptedFetch['last']): void => request.answers(403, {}, { keys: request.keys })

  it('pauses for a minute, and no other does', async () => {
    const [a, b] = ['a', 'b'].map((key) => notifier.subscribe(key, '1')) as [Subscription, Subscription]
    await clock.advance(0)
    forbid(bridge.open[0] as ScriptedFetch['last'])
    await clock.advance(0)
    expect([a.live, a.signals, b.live, b.signals, bridge.open.length]).toEqual([false, 1, true, 0, 1])
    changed()
    await clock.advance(0)
    b.onSignal(1, () => undefined)
    const again = await subscribed('a')
    expect([again.live, bridge.open.map(({ keys }) => keys)]).toEqual([false, [['b']]])
    b.close()
    again.close()
    await clock.advance(59_999)
    expect(bridge.open).toHaveLength(0)
    await clock.advance(1)
    expect([bridge.last.keys, lastQuery()['timeout']]).toEqual([['a'], '1s'])
    bridge.last.answers(204)
    expect(refusals).toEqual([403])
  })

  it('gives its place to another', async () => {
    const forbidden = ['a', 'b', 'c'].map((key) => notifier.subscribe(key, '1'))
    await clock.advance(0)
    for (const request of bridge.open) forbid(request)
    await clock.advance(0)
    const others = ['d', 'e', 'f'].map((key) => notifier.subscribe(key, '1'))
    await clock.advance(0)
    expect([bridge.open.length, others.every(({ live }) => live)]).toEqual([3, true])
    for (const subscription of forbidden) subscription.close()
    notifier.subscribe('g', '1')
    await clock.advance(0)
    expect([bridge.open.length, refusals]).toEqual([3, [403]])
  })
})

it('a bridge with another prefix is not believed, and asked once a minute', async () => {
  const subscription = await subscribed('a')
  for (let second = 0; second < 300; second++) {
    if (bridge.last.isOpen) bridge.last.answers(200, { 'leasehold-prefix': 'locks%3A' }, { changed: true })
    await clock.advance(1_000)
  }
  expect([subscription.live, subscription.signals, refusals]).toEqual([false, 1, [200]])
  expect(bridge.requests.length).toBeLessThanOrEqual(5)
})

describe('of one notifier', () => {
  it('at most three wait, and another begins when its waiter comes after one has ended', async () => {
    const [first, , , fourth] = ['a', 'b', 'c', 'd'].map((key) => notifier.subscribe(key, '1')) as Subscription[]
    await clock.advance(0)
    expect(bridge.open).toHaveLength(3)
    expect([first?.live, fourth?.live]).toEqual([true, false])
    fourth?.onSignal(0, () => undefined)
    expect(bridge.open).toHaveLength(3)
    first?.close()
    fourth?.onSignal(0, () => undefined)
    await clock.advance(0)
    expect([bridge.open.length, bridge.last.keys, fourth?.live]).toEqual([3, ['d'], true])
  })

  it('those that never began give no place back', async () => {
    const subscriptions = Array.from({ length: 6 }, () => notifier.subscribe('a', '1'))
    for (const subscription of subscriptions.slice(3)) subscription.close()
    await subscribed('b')
    expect(bridge.open).toHaveLength(3)
    for (const subscription of subscriptions) subscription.close()
    for (let index = 0; index < 4; index++) await subscribed('c')
    expect(bridge.open).toHaveLength(3)
  })

  it('each waits, where calls share nothing', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge')
    const subscriptions = Array.from({ length: 5 }, () => notifier.subscribe('a', '1'))
    await clock.advance(0)
    expect(bridge.open).toHaveLength(5)
    for (const subscription of subscriptions) subscription.close()
    expect(bridge.open).toEqual([])
  })
})

describe('a poll of a waiter in a queue', () => {
  const name = `${'a1'.repeat(16)}.1`
  const kept = { 'leasehold-kept': '1' }
  async function queued(): Promise<Subscription> {
    const subscription = placesOf(notifier)?.subscribe('k', name) as Subscription
    await clock.advance(0)
    return subscription
  }

  it('names it, is short until the bridge has said that it keeps the place, and then as long as any', async () => {
    const subscription = await queued()
    expect(lastQuery()).toEqual({ key: 'k', since: '-', timeout: '4s', waiter: name })
    await clock.advance(4_000)
    bridge.last.answers(204, { ...kept, 'leasehold-cursor': '-' })
    await clock.advance(0)
    expect(lastQuery()).toEqual({ key: 'k', since: '-', timeout: '25s', waiter: name })
    expect([subscription.live, subscription.signals]).toEqual([true, 0])
    waitAgainAndAgain(subscription)
    bridge.last.answers(200, kept, { changed: true })
    await clock.advance(0)
    expect([subscription.live, subscription.signals, bridge.open.length]).toEqual([true, 1, 1])
  })

  it('at a bridge that keeps no places is a plain one, and its waiter looks for itself', async () => {
    const subscription = await queued()
    await clock.advance(4_000)
    bridge.last.answers(204, { 'leasehold-cursor': '17' })
    await clock.advance(0)
    expect([subscription.live, subscription.signals]).toEqual([false, 1])
    waitAgainAndAgain(subscription)
    await clock.advance(0)
    expect(lastQuery()).toMatchObject({ since: '17', waiter: name })
    // As if it were another bridge, or one that has been restarted.
    bridge.last.answers(200, kept, { changed: true })
    await clock.advance(0)
    expect([subscription.live, subscription.signals]).toEqual([true, 2])
  })

  it('that fails lets its waiter look for itself until the bridge is back', async () => {
    const subscription = await queued()
    for (let times = 0; times < 2; times++) {
      bridge.last.fail()
      await clock.advance(300)
    }
    expect([subscription.live, subscription.signals]).toEqual([false, 1])
  })

  it('is one even where a stream tells of releases', async () => {
    await notifier.close()
    notifier = bridgeNotifier({
      url: 'https://bridge.example',
      token: 'token',
      mode: 'sse',
      fetch: bridge.fetch,
      clock,
    })
    await queued()
    expect(bridge.last.url.pathname).toBe('/v1/wait')
    notifier.subscribe('k', '-')
    await clock.advance(20)
    expect(bridge.last.url.pathname).toBe('/v1/events')
  })
})
