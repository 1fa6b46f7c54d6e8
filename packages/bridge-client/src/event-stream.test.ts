import { inboxOf, type ReleaseNotifier, type Subscription } from '@leasehold/core/adapter'
import { ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ScriptedFetch } from '../../bridge/test/fetch.ts'
import { type BridgeRefusal, bridgeNotifier } from './index.ts'

const token = 'token-of-the-bridge'
let clock: ManualClock
let bridge: ScriptedFetch
let refusals: unknown[]
let notifier: ReleaseNotifier

beforeEach(() => {
  clock = new ManualClock()
  bridge = new ScriptedFetch()
  refusals = []
  const onError = ({ reason, status }: BridgeRefusal): unknown => refusals.push([reason, status])
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

/** Advances the clock until there is another request. */
async function nextRequest(): Promise<ScriptedFetch['last']> {
  const { length } = bridge.requests
  while (bridge.requests.length === length) await clock.advance(10)
  return bridge.last
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

  it('are watched by the bridge as long as it knows the holder: not from a release to the next state', async () => {
    const [subscription] = (await listening('a')) as [Subscription]
    expect([subscription.live, subscription.checks]).toEqual([true, true])
    bridge.last.releases('a')
    await clock.advance(0)
    expect([subscription.live, subscription.checks]).toEqual([true, false])
    bridge.last.state('a', true)
    await clock.advance(0)
    expect([subscription.live, subscription.checks]).toEqual([true, true])
    bridge.last.state('a', false)
    await clock.advance(0)
    expect(subscription.checks).toBe(false)
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

  it('that cannot be made again is a reason to check, once', async () => {
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

  it.each(['1e12', 'Infinity', '9'.repeat(400)])(
    'waits no longer than about a minute, although asked for %s',
    async (much) => {
      await listening('a')
      bridge.last.sends(`retry: ${much}\n\n`).ends()
      await clock.advance(75_000)
      expect(bridge.requests).toHaveLength(2)
      bridge.last.answers(429, { 'retry-after': much })
      await clock.advance(75_000)
      expect(bridge.requests).toHaveLength(3)
    },
  )

  it.each(['-5', 'NaN', 'soon', '', 'Wed, 21 Oct 2026 07:28:00 GMT'])('ignores the pause of %j', async (nonsense) => {
    await listening('a')
    bridge.last.sends(`retry: 700\n\nretry: ${nonsense}\n\n`).ends()
    await clock.advance(699)
    expect(bridge.requests).toHaveLength(1)
    await clock.advance(200)
    bridge.last.answers(503, { 'retry-after': nonsense })
    await clock.advance(900)
    expect(bridge.requests).toHaveLength(3)
  })

  it('goes on when an event cannot be read, and counts no key that it was not opened for', async () => {
    const odd = 'x\u2028y\u2029z'
    const [a, b] = ['a', odd].map((key) => notifier.subscribe(key, '1')) as [Subscription, Subscription]
    await clock.advance(20)
    bridge.last.opens()
    for (const data of [
      '{',
      '',
      'null',
      '7',
      '"a"',
      '[]',
      '{}',
      '{"key":null,"held":true}',
      '{"key":["a"],"held":true}',
    ]) {
      for (const event of ['state', 'release', 'other', 'toString'])
        bridge.last.sends(`event: ${event}\ndata: ${data}\n\n`)
    }
    for (const held of ['"no"', '0', 'null', '{}'])
      bridge.last.sends(`event: state\ndata: {"key":"a","held":${held}}\n\n`)
    bridge.last.sends('event: state\ndata: {"key":"a"}\n\ndata: {"key":"a","held":true}\n\n')
    bridge.last.sends('event: news\ndata: {"key":"a","held":false}\n\n').state('c', false)
    await clock.advance(0)
    expect([a.live, a.signals, b.live]).toEqual([false, 0, false])
    bridge.last.state('a', true).state(odd, true).releases(odd)
    await clock.advance(0)
    expect([a.live, a.signals, b.live, b.signals, bridge.requests.length]).toEqual([true, 0, true, 1, 1])
    notifier.subscribe('c', '1')
    await clock.advance(20)
    expect(bridge.last.keys).toEqual(['a', odd, 'c'])
  })

  it('is given up for a line that no bridge sends, and is heard up to that', async () => {
    const [a] = (await listening('a')) as [Subscription]
    const first = bridge.last
    for (let sent = 0; sent < 16; sent++) first.sends('x'.repeat(1_000))
    await clock.advance(0)
    expect([first.isOpen, a.live]).toEqual([true, true])
    first.sends('x'.repeat(1_000))
    await clock.advance(0)
    expect([first.isOpen, a.live]).toEqual([false, false])
  })

  it.each([
    ['ends at once', (open: ScriptedFetch['last']) => open.opens().ends()],
    ['is a page', (open: ScriptedFetch['last']) => open.opens().sends('<html>').ends()],
    ['has a line without end', (open: ScriptedFetch['last']) => open.opens().sends('x'.repeat(16_384))],
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
    expect(refusals).toEqual([['refused', status]])
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
    expect([a.live, a.signals, refusals]).toEqual([true, 1, [['refused', 403]]])
  })
})

describe('a bridge that forbids some keys', () => {
  const forbids = (...keys: string[]): void => bridge.last.answers(403, {}, { title: 'Forbidden', keys })

  it('is at once asked for the others, and for those no more than once a minute', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((key) => notifier.subscribe(key, '1')) as Subscription[]
    await clock.advance(20)
    forbids('b')
    await clock.advance(20)
    expect(bridge.requests.map(({ keys }) => keys)).toEqual([
      ['a', 'b', 'c'],
      ['a', 'c'],
    ])
    expect(await isReady(b as Subscription)).toBe(true)
    expect(await isReady(a as Subscription)).toBe(false)
    bridge.last.opensWith('a', 'c').releases('c')
    await clock.advance(0)
    expect([a?.live, b?.live, c?.live, c?.signals]).toEqual([true, false, true, 1])
    for (let second = 0; second < 300; second++) {
      await clock.advance(1_000)
      if (bridge.last.isOpen && bridge.last.keys.includes('b')) forbids('b')
      bridge.open[0]?.sends(': heartbeat\n\n')
    }
    expect(bridge.requests.length).toBeLessThanOrEqual(7)
    expect(bridge.requests.length).toBeGreaterThan(5)
    expect([a?.live, a?.signals, b?.live, refusals]).toEqual([true, 0, false, [['refused', 403]]])
  })

  it('is asked again after a minute, and heard if it allows them by then', async () => {
    const b = notifier.subscribe('b', '1')
    await clock.advance(20)
    forbids('b')
    await clock.advance(59_999)
    expect(bridge.requests).toHaveLength(1)
    await clock.advance(21)
    bridge.last.opensWith('b')
    await clock.advance(0)
    expect([bridge.requests.length, b.live]).toEqual([2, true])
  })

  it('is not asked for them by who comes meanwhile, who is not made to wait', async () => {
    const b = notifier.subscribe('b', '1')
    await clock.advance(20)
    forbids('b')
    await clock.advance(0)
    b.close()
    const [again, a] = ['b', 'a'].map((key) => notifier.subscribe(key, '1')) as [Subscription, Subscription]
    expect(await isReady(again)).toBe(true)
    await clock.advance(20)
    expect(bridge.last.keys).toEqual(['a'])
    bridge.last.opensWith('a')
    await clock.advance(0)
    expect([again.live, a.live]).toEqual([false, true])
  })

  it('is told of by a signal to who relied on it', async () => {
    const [a] = (await listening('a', 'b')) as [Subscription]
    bridge.last.ends()
    await clock.advance(100)
    forbids('a')
    await clock.advance(0)
    expect([a.live, a.signals]).toEqual([false, 1])
  })

  it.each([
    ['names others', { keys: ['x'] }],
    ['names none', { keys: [] }],
    ['names odd things', { keys: [7, null, {}] }],
    ['names them oddly', { keys: { a: true } }],
    ['says nothing', undefined],
    ['says null', null],
  ])('and %s refuses all', async (_, body) => {
    notifier.subscribe('a', '1')
    for (let second = 0; second < 60; second++) {
      await clock.advance(1_000)
      for (const open of bridge.open) open.answers(403, {}, body)
    }
    expect([bridge.requests.length, refusals]).toEqual([1, [['refused', 403]]])
  })

  it('is told of again when it was well for two minutes', async () => {
    const b = notifier.subscribe('b', '1')
    await clock.advance(20)
    forbids('b')
    await clock.advance(0)
    b.close()
    await clock.advance(120_000)
    const [a] = (await listening('a')) as [Subscription]
    a.close()
    notifier.subscribe('b', '1')
    await clock.advance(20)
    forbids('b')
    await clock.advance(0)
    expect(refusals).toEqual([
      ['refused', 403],
      ['refused', 403],
    ])
  })
})

describe('a bridge with another prefix', () => {
  const other = { 'leasehold-prefix': 'locks%3A' }

  it('is not listened to, is told of once, and is asked once a minute', async () => {
    const told = vi.fn()
    notifier.onStateChange(told)
    const subscription = notifier.subscribe('a', '1')
    for (let second = 0; second < 300; second++) {
      await clock.advance(1_000)
      for (const open of bridge.open) {
        open.opens(other).state('a', false)
        await clock.advance(0)
        expect(open.isOpen).toBe(false)
      }
    }
    expect([await isReady(subscription), subscription.live, subscription.signals]).toEqual([true, false, 0])
    expect(refusals).toEqual([['prefix', 200]])
    expect(told.mock.calls).toEqual([
      [{ type: 'disconnected', cause: expect.objectContaining({ message: expect.stringContaining('locks%3A') }) }],
    ])
    expect(bridge.requests.length).toBeLessThanOrEqual(5)
  })

  it('leaves what is heard by a connection of before', async () => {
    const [a] = (await listening('a')) as [Subscription]
    const first = bridge.last
    notifier.subscribe('b', '1')
    await clock.advance(20)
    bridge.last.opens(other)
    await clock.advance(0)
    first.releases('a')
    await clock.advance(0)
    expect([a.live, a.signals]).toEqual([true, 1])
  })

  it.each([{ 'leasehold-prefix': 'lock%3A' }, { 'leasehold-prefix': 'lock:' }, {}])(
    'is not one that says %j',
    async (headers) => {
      const subscription = notifier.subscribe('a', '1')
      await clock.advance(20)
      bridge.last.opens(headers as Record<string, string>).state('a', true)
      await clock.advance(0)
      expect([subscription.live, refusals]).toEqual([true, []])
    },
  )
})

describe('who asked whether releases are heard', () => {
  it('is told at once if they are not, then that they are again, and nothing once withdrawn', async () => {
    const [withdrawn, early, late, tooLate] = [vi.fn(), vi.fn(), vi.fn(), vi.fn()]
    const types = (...listeners: (typeof early)[]) =>
      listeners.map(({ mock }) => mock.calls.map(([{ type }]) => type as string))
    const withdraw = notifier.onStateChange(withdrawn)
    notifier.onStateChange(early)
    withdraw()
    notifier.subscribe('a', '1')
    await clock.advance(20)
    bridge.last.answers(401)
    await clock.advance(0)
    notifier.onStateChange(late)
    expect(types(withdrawn, early, late)).toEqual([[], ['disconnected'], ['disconnected']])
    const answering = (await nextRequest()).opensWith('a')
    await clock.advance(0)
    notifier.onStateChange(tooLate)
    const toAndFro = ['disconnected', 'reconnected']
    expect(types(early, late, tooLate)).toEqual([toAndFro, toAndFro, []])
    answering.ends()
    const refused = await nextRequest()
    refused.answers(401)
    await clock.advance(0)
    const again = [...toAndFro, 'disconnected']
    expect(types(early, late, tooLate)).toEqual([again, again, ['disconnected']])
  })

  it('is told of a bridge that cannot be reached when three attempts have failed, and that it is back', async () => {
    const told = vi.fn()
    notifier.onStateChange(told)
    notifier.subscribe('a', '1')
    for (let failed = 1; failed <= 5; failed++) {
      ;(await nextRequest()).fail()
      await clock.advance(0)
      expect(told).toHaveBeenCalledTimes(failed < 3 ? 0 : 1)
    }
    const answering = (await nextRequest()).opensWith('a')
    await clock.advance(0)
    expect(told.mock.calls.flat()).toEqual([
      {
        type: 'disconnected',
        cause: expect.objectContaining({ cause: expect.objectContaining({ message: 'Network connection lost.' }) }),
      },
      { type: 'reconnected' },
    ])
    expect(refusals).toEqual([])
    answering.ends()
  })

  it('is told no error of a request that was merely silent', async () => {
    const told = vi.fn()
    notifier.onStateChange(told)
    notifier.subscribe('a', '1')
    for (let failed = 1; failed <= 2; failed++) (await nextRequest()).fail()
    await nextRequest()
    await clock.advance(5_000)
    expect(told.mock.calls.flat()).toEqual([{ type: 'disconnected', cause: expect.any(Error) }])
    expect(told.mock.calls.flat()[0].cause.cause).toBeUndefined()
  })
})

describe('the body of an error', () => {
  it.each([401, 429, 500, 503])('%i is given up at once', async (status) => {
    notifier.subscribe('a', '1')
    await clock.advance(20)
    const cancelled = vi.fn()
    bridge.last.begins(status, {}, cancelled)
    await clock.advance(0)
    expect(cancelled).toHaveBeenCalled()
  })

  it.each([403, 404])('%i is read, up to a length and for no longer than 5 s', async (status) => {
    notifier.subscribe('a', '1')
    await clock.advance(20)
    const endless = bridge.last.begins(status).sends('{')
    await clock.advance(4_999)
    expect([endless.isOpen, refusals]).toEqual([true, []])
    await clock.advance(1)
    expect([endless.isOpen, refusals]).toEqual([false, [['refused', status]]])
    const long = (await nextRequest()).begins(status).sends('x'.repeat(16_384))
    await clock.advance(0)
    expect([long.isOpen, bridge.requests.length]).toEqual([false, 2])
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
    // The other stream belongs to another request: closing the notifier must not touch it.
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

describe('an inbox', () => {
  const name = 'b2'.repeat(16)
  const turn = (number: number): unknown =>
    bridge.last.sends(`event: turn\ndata: ${JSON.stringify({ key: 'a', inbox: name, number })}\n\n`)

  it('is named by the stream, and hears the turns of its waiters, which signal no release', async () => {
    const messages: unknown[] = []
    const inbox = inboxOf(notifier)?.open(name, (message) => messages.push(message))
    const [a] = (await listening('a')) as [Subscription]
    expect(bridge.last.url.searchParams.getAll('inbox')).toEqual([name])
    turn(7)
    await clock.advance(0)
    expect([messages, a.signals, inbox?.live]).toEqual([['turn 7'], 0, false])
    inbox?.close()
    turn(8)
    await clock.advance(0)
    expect(messages).toEqual(['turn 7'])
  })

  it('that is opened later needs a new stream for the same keys', async () => {
    await listening('a')
    inboxOf(notifier)?.open(name, () => undefined)
    notifier.subscribe('a', '-')
    await clock.advance(20)
    expect(bridge.open.length).toBe(2)
    expect([bridge.last.keys, bridge.last.url.searchParams.getAll('inbox')]).toEqual([['a'], [name]])
  })

  it('is not offered by long polls', async () => {
    expect(inboxOf(bridgeNotifier({ url: 'https://bridge.example', token, mode: 'long-poll' }))).toBeUndefined()
  })
})
