import type { ReleaseNotifier, Subscription } from '@leasehold/core'
import { ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ScriptedFetch } from '../../test-fetch.ts'
import { bridgeNotifier } from './index.ts'

const token = 'token-of-the-bridge'
let clock: ManualClock
let bridge: ScriptedFetch
let refusals: number[]
let notifier: ReleaseNotifier

beforeEach(() => {
  clock = new ManualClock()
  bridge = new ScriptedFetch()
  refusals = []
  const onError = ({ status }: { status: number }): unknown => refusals.push(status)
  notifier = bridgeNotifier({ url: 'https://bridge.example/base/', token, fetch: bridge.fetch, clock, onError })
})
afterEach(async () => {
  vi.unstubAllGlobals()
  await notifier.close()
  await clock.advance(0)
  expect([clock.pending, bridge.open]).toEqual([0, []])
})

/** Subscribes to keys that somebody holds, and lets the stream open. */
async function listening(...keys: string[]): Promise<Subscription[]> {
  const subscriptions = keys.map((key) => notifier.subscribe(key, '1'))
  await clock.advance(20)
  bridge.last.opensWith(...keys)
  await clock.advance(0)
  return subscriptions
}

async function isReady({ ready }: Subscription): Promise<boolean> {
  const settled = vi.fn()
  void ready.then(settled)
  await clock.advance(0)
  return settled.mock.calls.length > 0
}

describe('the keys of a stream', () => {
  it('that come within 20 ms share one request, which carries the token in its header alone', async () => {
    notifier.subscribe('a', '1')
    await clock.advance(19)
    notifier.subscribe('b&c/é', '1')
    expect(bridge.requests).toEqual([])
    await clock.advance(1)
    expect(bridge.requests).toHaveLength(1)
    const { url, request } = bridge.last
    expect(url.href).toBe('https://bridge.example/base/v1/events?key=a&key=b%26c%2F%C3%A9')
    expect(request).toMatchObject({ headers: { Authorization: `Bearer ${token}` }, redirect: 'manual' })
  })

  it('are heard when the bridge has told their states: held says nothing new, free is a signal', async () => {
    const [held, free] = ['held', 'free'].map((key) => notifier.subscribe(key, '1')) as [Subscription, Subscription]
    await clock.advance(20)
    bridge.last.opens()
    expect([await isReady(held), held.live]).toEqual([false, false])
    bridge.last.state('held', true)
    expect([await isReady(held), held.live, held.signals]).toEqual([true, true, 0])
    expect([await isReady(free), free.live]).toEqual([false, false])
    bridge.last.state('free', false)
    expect([await isReady(free), free.live, free.signals]).toEqual([true, true, 1])
  })

  it('are signalled to those who wait for them and to no others', async () => {
    const [a, twin, b] = (await listening('a', 'a', 'b')) as [Subscription, Subscription, Subscription]
    expect(bridge.last.keys).toEqual(['a', 'b'])
    const callback = vi.fn()
    a.onSignal(0, callback)
    bridge.last.releases('a')
    await clock.advance(0)
    expect([a.signals, twin.signals, b.signals]).toEqual([1, 1, 0])
    expect(callback).toHaveBeenCalledTimes(1)
  })

  it('change by a second connection for all, and the first is heard until that has opened', async () => {
    const [a] = (await listening('a')) as [Subscription]
    const first = bridge.last
    notifier.subscribe('b', '1')
    await clock.advance(20)
    const second = bridge.last
    expect(second.keys).toEqual(['a', 'b'])
    first.releases('a')
    await clock.advance(0)
    expect([first.isOpen, a.live, a.signals]).toEqual([true, true, 1])
    second.opensWith('a', 'b')
    await clock.advance(0)
    expect([first.isOpen, a.live, a.signals]).toEqual([false, true, 1])
  })

  it('that come while a connection opens wait for it, so that it is not begun again and again', async () => {
    notifier.subscribe('a', '1')
    await clock.advance(20)
    for (const key of ['b', 'c', 'd']) {
      notifier.subscribe(key, '1')
      await clock.advance(20)
    }
    expect(bridge.requests.map(({ keys }) => keys)).toEqual([['a']])
    bridge.last.opensWith('a')
    await clock.advance(20)
    expect(bridge.last.keys).toEqual(['a', 'b', 'c', 'd'])
  })

  it('that nobody waits for any more leave with the next change', async () => {
    const [a] = (await listening('a', 'b')) as [Subscription]
    a.close()
    notifier.subscribe('c', '1')
    await clock.advance(20)
    expect(bridge.last.keys).toEqual(['b', 'c'])
  })

  it('beyond 50, or 4 kB of path, have a further stream', async () => {
    for (let index = 0; index < 51; index++) notifier.subscribe(`k${index}`, '1')
    await clock.advance(20)
    expect(bridge.requests.map(({ keys }) => keys.length)).toEqual([50, 1])
    for (const letter of 'xyz') notifier.subscribe(letter.repeat(500), '1')
    for (const letter of 'äöü') notifier.subscribe(letter.repeat(250), '1')
    await clock.advance(20)
    for (let round = 0; round < 3; round++) {
      for (const request of bridge.open) request.opensWith(...request.keys)
      await clock.advance(20)
    }
    const open = bridge.open.map(({ url }) => (url.pathname + url.search).length)
    expect(open.length).toBeGreaterThan(2)
    expect(Math.max(...open)).toBeLessThan(4_050)
    expect(bridge.open.flatMap(({ keys }) => keys)).toHaveLength(57)
  })
})

describe('who joins a key that is heard already', () => {
  it('is signalled if it was released a moment ago: that may have been after the refusal', async () => {
    await listening('a')
    bridge.last.releases('a')
    await clock.advance(1_000)
    const joined = notifier.subscribe('a', '2')
    expect([joined.live, joined.signals, await isReady(joined)]).toEqual([true, 1, true])
  })

  it('is not signalled for a release of long ago, nor for a lock that was held', async () => {
    await listening('a', 'b')
    bridge.last.releases('a')
    await clock.advance(5_000)
    expect(['a', 'b'].map((key) => notifier.subscribe(key, '2').signals)).toEqual([0, 0])
    await clock.advance(100)
    expect(bridge.requests).toHaveLength(1)
  })
})

describe('a connection', () => {
  it('ends at once with the last who listens, in whatever state', async () => {
    const waiting = notifier.subscribe('a', '1')
    await clock.advance(0)
    expect(clock.pending).toBeGreaterThan(0)
    waiting.close()
    expect(clock.pending).toBe(0)
    const opening = notifier.subscribe('a', '1')
    await clock.advance(20)
    expect(bridge.open).toHaveLength(1)
    opening.close()
    expect([clock.pending, bridge.open]).toEqual([0, []])
    const [a, b] = (await listening('a', 'b')) as [Subscription, Subscription]
    a.close()
    expect(bridge.open).toHaveLength(1)
    b.close()
    b.close()
    expect([clock.pending, bridge.open, b.live]).toEqual([0, [], false])
  })

  it('whose headers do not come in 5 s is given up, and nobody waits for it longer', async () => {
    const subscription = notifier.subscribe('a', '1')
    await clock.advance(5_019)
    expect(await isReady(subscription)).toBe(false)
    await clock.advance(1)
    expect([await isReady(subscription), subscription.live, bridge.open]).toEqual([true, false, []])
    await clock.advance(100)
    expect(bridge.open).toHaveLength(1)
  })

  it('lives as long as there are heartbeats, and after two that were missed is replaced', async () => {
    const [a] = (await listening('a')) as [Subscription]
    for (let minute = 0; minute < 4; minute++) {
      await clock.advance(15_000)
      bridge.last.sends(': heartbeat\n\n')
    }
    await clock.advance(30_999)
    expect([a.live, bridge.requests.length]).toEqual([true, 1])
    await clock.advance(1)
    expect([a.live, bridge.open]).toEqual([false, []])
    await clock.advance(100)
    bridge.last.opensWith('a')
    await clock.advance(0)
    expect([a.live, a.signals]).toEqual([true, 0])
  })

  it('that is lost is made again, and its state tells what was released meanwhile', async () => {
    const [a, b] = (await listening('a', 'b')) as [Subscription, Subscription]
    bridge.last.fail()
    await clock.advance(0)
    expect([a.live, b.live]).toEqual([false, false])
    await clock.advance(100)
    bridge.last.opensWith('a')
    await clock.advance(0)
    expect([a.live, a.signals, b.live, b.signals]).toEqual([true, 0, true, 1])
  })

  it('that cannot be made again is a reason to look, once', async () => {
    const [a] = (await listening('a')) as [Subscription]
    bridge.last.ends()
    await clock.advance(100)
    expect(a.signals).toBe(0)
    for (let failure = 0; failure < 5; failure++) {
      bridge.last.fail()
      await clock.advance(5_000)
      expect([a.live, a.signals]).toEqual([false, 1])
    }
    bridge.last.opensWith('a')
    await clock.advance(0)
    expect([a.live, a.signals]).toEqual([true, 1])
  })

  it('is not made for a key that comes while the bridge is away, which does not wait for it', async () => {
    await listening('a')
    notifier.subscribe('b', '1')
    await clock.advance(20)
    bridge.last.answers(503, { 'retry-after': '30' })
    await clock.advance(0)
    const late = notifier.subscribe('c', '1')
    expect([await isReady(late), late.live]).toEqual([true, false])
    const { length } = bridge.requests
    const refusedAtMs = clock.monotonicMs()
    while (bridge.requests.length === length) await clock.advance(100)
    expect(clock.monotonicMs() - refusedAtMs).toBeGreaterThanOrEqual(30_000)
    expect(clock.monotonicMs() - refusedAtMs).toBeLessThanOrEqual(37_600)
  })

  it('waits for the pause that the bridge asked for before it is made again', async () => {
    await listening('a')
    bridge.last.sends('retry: 3000\n\n').ends()
    await clock.advance(2_999)
    expect(bridge.requests).toHaveLength(1)
    await clock.advance(1_000)
    expect(bridge.requests).toHaveLength(2)
  })

  it.each([
    ['ends at once', (open: ScriptedFetch['last']) => open.opens().ends()],
    ['is not one of events', (open: ScriptedFetch['last']) => open.opens().sends('event: state\ndata: <html>\n\n')],
    ['has no body', (open: ScriptedFetch['last']) => open.answers(204)],
  ])('that %s is not made again and again without a pause', async (_, answer) => {
    notifier.subscribe('a', '1')
    for (let ms = 0; ms < 60_000; ms += 50) {
      await clock.advance(50)
      for (const open of bridge.open) answer(open)
    }
    expect(bridge.requests.length).toBeLessThan(25)
    expect(bridge.requests.length).toBeGreaterThan(10)
  })
})

describe('a bridge that refuses', () => {
  it.each([401, 403, 404, 301])('with %i is told of once and asked once a minute, whoever comes', async (status) => {
    for (let second = 0; second < 300; second++) {
      const subscription = notifier.subscribe(`k${second}`, '1')
      await clock.advance(1_000)
      for (const open of bridge.open) open.answers(status)
      expect([await isReady(subscription), subscription.live]).toEqual([true, false])
      subscription.close()
    }
    expect(refusals).toEqual([status])
    expect(bridge.requests.length).toBeLessThanOrEqual(5)
  })

  it('a further key goes on to tell of the others', async () => {
    const [a] = (await listening('a')) as [Subscription]
    const first = bridge.last
    notifier.subscribe('forbidden', '1')
    await clock.advance(20)
    bridge.last.answers(403)
    await clock.advance(0)
    first.releases('a')
    await clock.advance(0)
    expect([a.live, a.signals, refusals]).toEqual([true, 1, [403]])
  })
})

describe('where calls share nothing', () => {
  beforeEach(() => vi.stubGlobal('EdgeRuntime', 'edge'))

  it('each subscription has a connection of its own, at once', async () => {
    const [a] = ['a', 'a'].map((key) => notifier.subscribe(key, '1')) as [Subscription]
    await clock.advance(0)
    expect(bridge.requests.map(({ keys }) => keys)).toEqual([['a'], ['a']])
    for (const request of bridge.requests) request.opensWith('a')
    a.close()
    expect(bridge.open).toHaveLength(1)
    // Another request's: closing the notifier must not touch it.
    await notifier.close()
    expect(bridge.open).toEqual([bridge.last])
    bridge.last.ends()
    await clock.advance(60_000)
    expect(bridge.requests).toHaveLength(2)
  })
})

it('after close() everything has ended, and who comes later is not made to wait', async () => {
  const [a] = (await listening('a')) as [Subscription]
  await notifier.close()
  expect([a.live, bridge.open, clock.pending]).toEqual([false, [], 0])
  const late = notifier.subscribe('b', '1')
  expect([await isReady(late), late.live]).toEqual([true, false])
  late.close()
  expect(bridge.requests).toHaveLength(1)
})
