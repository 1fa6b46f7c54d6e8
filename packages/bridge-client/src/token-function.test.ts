import { inspect } from 'node:util'
import type { ReleaseNotifier, Subscription } from '@leasehold/core/adapter'
import { ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ScriptedFetch } from '../../bridge/test/fetch.ts'
import { type BridgeNotifierOptions, type BridgeRefusal, bridgeNotifier } from './index.ts'

let clock: ManualClock
let bridge: ScriptedFetch
let refusals: BridgeRefusal[]
let notifiers: ReleaseNotifier[]

beforeEach(() => {
  clock = new ManualClock()
  bridge = new ScriptedFetch()
  refusals = []
  notifiers = []
})
afterEach(async () => {
  vi.unstubAllGlobals()
  for (const notifier of notifiers) await notifier.close()
  await clock.advance(0)
  expect([clock.pending, bridge.open]).toEqual([0, []])
})

function notifierWith(token: BridgeNotifierOptions['token'], mode: 'sse' | 'long-poll' = 'sse'): ReleaseNotifier {
  const onError = (refusal: BridgeRefusal): unknown => refusals.push(refusal)
  const notifier = bridgeNotifier({ url: 'https://bridge.example', token, mode, fetch: bridge.fetch, clock, onError })
  notifiers.push(notifier)
  return notifier
}
const sent = (): string[] => bridge.requests.map(({ request }) => String(request.headers['Authorization']))
const told = (): unknown[] => refusals.map(({ reason, status }) => [reason, status])

/** A function that returns `ticket-1`, `ticket-2` and so on. */
const tickets = () => {
  let count = 0
  return vi.fn(async () => `ticket-${++count}`)
}

describe('a function for the token', () => {
  it('is asked before the first request, and what it answers is kept', async () => {
    const token = tickets()
    const notifier = notifierWith(token)
    const a = notifier.subscribe('a', '1')
    await clock.advance(20)
    bridge.last.opensWith('a').ends()
    await clock.advance(200)
    bridge.last.opensWith('a')
    await clock.advance(0)
    expect([token.mock.calls.length, sent(), a.live]).toEqual([1, ['Bearer ticket-1', 'Bearer ticket-1'], true])
  })

  it.each(['sse', 'long-poll'] as const)('that never answers is a reason to check after 4 s, by %s', async (mode) => {
    const subscription = notifierWith(() => new Promise<string>(() => undefined), mode).subscribe('a', '1')
    await clock.advance(4_100)
    expect([subscription.live, sent(), told()]).toEqual([false, [], [['token', 0]]])
    // Nobody relied on the stream yet.
    expect(subscription.signals).toBe(mode === 'sse' ? 0 : 1)
  })

  it('may answer without a promise', async () => {
    notifierWith(() => 'ticket').subscribe('a', '1')
    await clock.advance(20)
    expect(sent()).toEqual(['Bearer ticket'])
  })

  it('is asked once by all who need the answer at the time', async () => {
    let answer: ((token: string) => void) | undefined
    const token = vi.fn(
      () =>
        new Promise<string>((resolve) => {
          answer = resolve
        }),
    )
    const notifier = notifierWith(token, 'long-poll')
    for (const key of 'abc') notifier.subscribe(key, '1')
    await clock.advance(0)
    expect([token.mock.calls.length, sent()]).toEqual([1, []])
    answer?.('first')
    await clock.advance(0)
    for (const request of bridge.open) request.answers(401)
    await clock.advance(0)
    expect(token).toHaveBeenCalledTimes(2)
    answer?.('second')
    await clock.advance(0)
    expect(sent().slice(3)).toEqual(Array(3).fill('Bearer second'))
    // A refusal that arrives when there is already a newer token does not call the function.
    expect(token).toHaveBeenCalledTimes(2)
    expect(refusals).toEqual([])
  })

  it('is asked by each for itself where calls share nothing, and the last answer is kept', async () => {
    vi.stubGlobal('EdgeRuntime', 'edge')
    const token = tickets()
    const slow = vi.fn(async () => {
      const ticket = await token()
      await new Promise<void>((resolve) => clock.schedule(resolve, 100))
      return ticket
    })
    const notifier = notifierWith(slow, 'long-poll')
    const subscriptions = ['a', 'b'].map((key) => notifier.subscribe(key, '1'))
    await clock.advance(100)
    expect([token.mock.calls.length, sent()]).toEqual([2, ['Bearer ticket-1', 'Bearer ticket-2']])
    subscriptions.push(notifier.subscribe('c', '1'))
    await clock.advance(0)
    expect([token.mock.calls.length, sent()[2]]).toEqual([2, 'Bearer ticket-2'])
    for (const subscription of subscriptions) subscription.close()
  })

  it('is asked again when a ticket has ended, and nobody notices', async () => {
    const token = tickets()
    const a = notifierWith(token).subscribe('a', '1')
    await clock.advance(20)
    bridge.last.opensWith('a')
    for (let ticket = 2; ticket < 6; ticket++) {
      for (let second = 0; second < 20; second++) {
        bridge.last.sends(': heartbeat\n\n')
        await clock.advance(1_000)
      }
      bridge.last.sends('retry: 1000\n\n').ends()
      await clock.advance(1_270)
      bridge.last.answers(401)
      await clock.advance(0)
      bridge.last.opensWith('a')
      await clock.advance(0)
      expect([a.live, a.signals, sent().at(-1), token.mock.calls.length]).toEqual([
        true,
        0,
        `Bearer ticket-${ticket}`,
        ticket,
      ])
    }
    expect(refusals).toEqual([])
  })

  it.each(['sse', 'long-poll'] as const)('that answers nothing better makes it a refusal (%s)', async (mode) => {
    for (const token of [vi.fn(() => 'same'), tickets()]) {
      const a = notifierWith(token, mode).subscribe('a', '1')
      const { length } = bridge.requests
      for (let second = 0; second < 300; second++) {
        await clock.advance(1_000)
        for (let again = 0; again < 2; again++) {
          for (const open of bridge.open) open.answers(401)
          await clock.advance(0)
        }
      }
      expect([a.live, told()]).toEqual([false, [['refused', 401]]])
      expect(bridge.requests.length - length).toBeLessThanOrEqual(10)
      expect(token.mock.calls.length).toBeLessThanOrEqual(6)
      a.close()
      refusals = []
    }
  })

  const never = new Promise<string>(() => undefined)
  it.each<[string, () => unknown]>([
    ['rejects', async () => Promise.reject(new Error('no ticket today'))],
    [
      'throws',
      () => {
        throw new Error('no ticket today')
      },
    ],
    ['answers nothing', () => undefined],
    ['answers an empty text', () => ''],
    ['answers what has spaces', async () => 'sec ret'],
    ['answers what no header carries', async () => 'secret\n'],
    ['answers an object', async () => ({ token: 'secret' })],
    ['never answers', () => never],
  ])('that %s is a failure, told of once, and holds nobody up', async (_, answer) => {
    const question = vi.fn(answer)
    const notifier = notifierWith(question as () => string)
    const a = notifier.subscribe('a', '1')
    await clock.advance(4_020)
    let ready = false
    void a.ready.then(() => {
      ready = true
    })
    await clock.advance(0)
    expect([ready, a.live, bridge.requests.length]).toEqual([true, false, 0])
    await clock.advance(60_000)
    expect(told()).toEqual([['token', 0]])
    expect(inspect(refusals)).not.toContain('sec')
    expect(question.mock.calls.length).toBeGreaterThan(5)
    expect(question.mock.calls.length).toBeLessThan(30)
    question.mockImplementation(() => 'ticket')
    while (bridge.requests.length === 0) await clock.advance(10)
    bridge.last.opensWith('a')
    await clock.advance(0)
    expect(a.live).toBe(true)
  })

  it('that fails tells who relied on a poll to check', async () => {
    const token = tickets()
    const a = notifierWith(token, 'long-poll').subscribe('a', '1')
    await clock.advance(0)
    token.mockRejectedValue(new Error('no ticket today'))
    for (let ms = 0; ms < 1_000; ms += 10) {
      for (const open of bridge.open) open.answers(401)
      await clock.advance(10)
    }
    expect([a.live, a.signals, told()]).toEqual([false, 1, [['token', 0]]])
  })

  it('that answers when nobody waits any more has nothing sent', async () => {
    let answer: ((token: string) => void) | undefined
    const subscription: Subscription = notifierWith(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    ).subscribe('a', '1')
    await clock.advance(20)
    subscription.close()
    answer?.('ticket')
    await clock.advance(0)
    expect(bridge.requests).toEqual([])
  })
})
