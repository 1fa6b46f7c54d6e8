import type { CheckOutcome, CheckRequest } from '@leasehold/core/adapter'
import type { SubscriberListener } from '@leasehold/core/redis'
import { ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkOptions } from './bridge-options.ts'
import { ReleaseWatch } from './release-watch.ts'

const gone = new AbortController().signal
const held: CheckOutcome = { type: 'checked', changed: false, cursor: '1', expiresInMs: null }
const ignore = { state: () => undefined, released: () => undefined, unavailable: () => undefined }

let clock: ManualClock
let watch: ReleaseWatch
/** The keys of each call, with the function that answers it. */
let calls: { readonly keys: readonly string[]; readonly answer: () => void }[]
let answersAtOnce: boolean
let isDown: boolean
let listener: SubscriberListener | undefined
beforeEach(() => {
  clock = new ManualClock()
  calls = []
  answersAtOnce = true
  isDown = false
  const store = {
    nodeOf: () => '',
    checkHolders: (requests: readonly CheckRequest[]) =>
      new Promise<readonly CheckOutcome[]>((resolve) => {
        const answer = (): void => resolve(requests.map(() => held))
        calls.push({ keys: requests.map(({ key }) => key), answer })
        if (answersAtOnce) answer()
      }),
  }
  const subscriber = {
    async connect(given: SubscriberListener) {
      if (isDown) throw new Error('connect ECONNREFUSED')
      listener = given
      const done = async (): Promise<void> => undefined
      return { psubscribe: done, subscribe: done, unsubscribe: done, close: () => undefined }
    },
  }
  watch = new ReleaseWatch(checkOptions({ store, subscriber, clock, auth: { tokens: ['x'.repeat(40)] } }))
})
afterEach(() => {
  watch.close()
  expect(clock.pending).toBe(0)
})

async function follow(key: string): Promise<() => void> {
  const watched = await watch.listenFor(gone)
  return watched?.(key).follow(ignore) ?? expect.fail('it does not listen')
}

test('after a reconnect the keys are checked in few calls, spread out by their number', async () => {
  for (let index = 0; index < 1_280; index++) await follow(`k${index}`)
  await clock.advance(1_000)
  const before = calls.length
  listener?.lost()
  // The connection is back within 50 ms; ten calls take 200 ms, plus 20 ms to gather.
  await clock.advance(120)
  const half = calls.slice(before).flatMap(({ keys }) => keys).length
  expect(half).toBeGreaterThan(100)
  expect(half).toBeLessThan(1_000)
  await clock.advance(200)
  const again = calls.slice(before)
  expect(again.flatMap(({ keys }) => keys)).toHaveLength(1_280)
  expect(again.length).toBeLessThan(16)
})

test('a check is not sent for a client that has left meanwhile, and is for one that comes at that moment', async () => {
  answersAtOnce = false
  for (const name of ['a', 'b']) {
    await follow(name)
    await clock.advance(0)
  }
  expect(calls.map(({ keys }) => keys)).toEqual([['a'], ['b']])
  const leave = await follow('left')
  const leaveToo = await follow('back')
  await clock.advance(300)
  leave()
  leaveToo()
  calls[0]?.answer()
  // The check both is dropped in this turn, and one of them is wanted before that is known.
  await Promise.resolve()
  await follow('back')
  await clock.advance(250)
  expect(calls.slice(2).map(({ keys }) => keys)).toEqual([['back']])
  for (const { answer } of calls) answer()
  await clock.advance(0)
})

test('whoever waits is sent off 2 s after the loss, though attempts fail in between', async () => {
  let sentOff = 0
  const watched = await watch.listenFor(gone)
  watched?.('a').follow({ ...ignore, unavailable: () => sentOff++ })
  await clock.advance(1_000)
  isDown = true
  listener?.lost()
  await clock.advance(1_999)
  expect(sentOff).toBe(0)
  await clock.advance(1)
  expect(sentOff).toBe(1)
})
