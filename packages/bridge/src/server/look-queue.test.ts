import { type Clock, InvalidOptionError, LeaseholdError, type LookOutcome, type LookRequest } from '@leasehold/core'
import { ManualClock, seededRandom } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { BridgeEvent, LookReason } from './bridge-events.ts'
import { LookQueue } from './look-queue.ts'
import type { Seen } from './paced-look.ts'

type Answer = LookOutcome | 'never'

/** What it answers for a key, and when. Keys `x:…` are kept by node `x`. */
class TestStore {
  readonly calls: (readonly string[])[] = []
  readonly signals: AbortSignal[] = []
  underWay = 0
  mostUnderWay = 0
  answer: (key: string, index: number) => Answer = () => held
  delayMs: () => number = () => 5
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nodeOf(key: string): string {
    if (key.includes('}')) throw new InvalidOptionError('key', 'needs a hash tag')
    return /^(\w+):/.exec(key)?.[1] ?? ''
  }

  /** As the port says: it may never settle, and an abort ends it only if it will. */
  look(requests: readonly LookRequest[], signal: AbortSignal): Promise<readonly LookOutcome[]> {
    this.calls.push(requests.map(({ key }) => key))
    this.signals.push(signal)
    this.mostUnderWay = Math.max(this.mostUnderWay, ++this.underWay)
    signal.addEventListener('abort', () => this.underWay--)
    return new Promise((resolve) => {
      const answers = requests.map(({ key }, index) => this.answer(key, index))
      if (answers.includes('never')) return
      const done = (): void => {
        this.underWay--
        resolve(answers as LookOutcome[])
      }
      this.#clock.schedule(done, this.delayMs())
    })
  }
}

const held: LookOutcome = { type: 'looked', changed: false, cursor: '1', expiresInMs: 10_000 }
const refused: LookOutcome = {
  type: 'refused',
  error: new LeaseholdError('STORE_UNAVAILABLE', 'refused the request; see the cause', {
    cause: new Error("NOPERM this user has no permissions to run the 'get' command"),
  }),
}
const unknown: LookOutcome = { type: 'unknown', executed: 'no', cause: new Error('Connection is closed.') }

let clock: ManualClock
let store: TestStore
let events: BridgeEvent[]
let queue: LookQueue
beforeEach(() => {
  clock = new ManualClock()
  store = new TestStore(clock)
  events = []
  queue = new LookQueue({ store, clock, onEvent: (event) => events.push(event) })
})
afterEach(() => {
  expect(clock.pending).toBe(0)
})

interface TestLook {
  readonly key: string
  readonly dueMs: number
  seen: Seen | undefined
  seenMs: number
}

function look(key: string, reason: LookReason = 'first-waiter', wanted?: () => boolean): TestLook {
  const looking: TestLook = { key, dueMs: clock.monotonicMs(), seen: undefined, seenMs: Number.NaN }
  void queue.look(key, reason, wanted).then((seen) => {
    looking.seen = seen
    looking.seenMs = clock.monotonicMs()
  })
  return looking
}

const looks = (count: number, reason?: LookReason, name = 'k'): TestLook[] =>
  Array.from({ length: count }, (_, index) => look(`${name}${index}`, reason))

const types = (looking: readonly TestLook[]): readonly (string | undefined)[] => [
  ...new Set(looking.map(({ seen }) => seen?.type)),
]
const counted = (outcome: string): number =>
  events.filter((event) => event.type === 'look' && event.outcome === outcome).length

describe('looks', () => {
  test('that are due in one turn are one call', async () => {
    const all = looks(50)
    await clock.advance(5)
    expect(store.calls.map(({ length }) => length)).toEqual([50])
    expect(all[0]?.seen).toEqual(held)
    expect([types(all), counted('answered')]).toEqual([['looked'], 50])
    expect(events[0]).toEqual({ type: 'store-asked', keys: 50 })
  })

  test('are 128 in a call at most, and two calls under way, in the order in which they were due', async () => {
    const all = looks(1_000)
    await clock.advance(1_000)
    expect(store.calls.map(({ length }) => length)).toEqual([128, 128, 128, 128, 128, 128, 128, 104])
    expect(store.calls.flat()).toEqual(all.map(({ key }) => key))
    expect(store.mostUnderWay).toBe(2)
    expect(types(all)).toEqual(['looked'])
  })

  test('that come while calls are under way gather for the next', async () => {
    looks(1, 'first-waiter', 'a')
    await clock.advance(1)
    looks(1, 'first-waiter', 'b')
    await clock.advance(1)
    for (const name of ['c', 'd', 'e']) {
      looks(10, 'first-waiter', name)
      await clock.advance(1)
    }
    await clock.advance(100)
    expect(store.calls.map(({ length }) => length)).toEqual([1, 1, 30])
  })

  test('that nobody wants any more are not sent, and not counted', async () => {
    looks(256)
    await clock.advance(0)
    let wanted = true
    const left = look('left', 'first-waiter', () => wanted)
    const stays = look('stays', 'first-waiter', () => true)
    wanted = false
    await clock.advance(100)
    expect([left.seen, stays.seen]).toEqual([{ type: 'unwanted' }, held])
    expect(store.calls.flat()).not.toContain('left')
    expect(events.filter(({ type }) => type === 'look')).toHaveLength(257)
  })

  test('after a reconnect wait for each other, 20 ms at most, and let others go first', async () => {
    for (let index = 0; index < 20; index++) {
      look(`r${index}`, 'reconnected')
      await clock.advance(1)
    }
    expect(store.calls.map(({ length }) => length)).toEqual([20])
    await clock.advance(5)
    const late = looks(500, 'reconnected', 'late')
    const first = looks(100)
    await clock.advance(0)
    expect(store.calls.slice(1).map((keys) => keys.filter((key) => key.startsWith('k')).length)).toEqual([96, 4])
    await clock.advance(100)
    expect([types(late), types(first)]).toEqual([['looked'], ['looked']])
  })

  test('after a reconnect come to their turn however many others are due all the time', async () => {
    const again = looks(100, 'reconnected', 'again')
    looks(512)
    for (let ms = 0; ms < 50; ms++) {
      // Twice as many as can be sent.
      looks(103, 'expiry', `m${ms}-`)
      await clock.advance(1)
    }
    expect(types(again)).toEqual(['looked'])
    await clock.advance(1_000)
  })
})

describe('a key', () => {
  test('that can be none is told so, and is in no call', async () => {
    const bad = look('a}b')
    const good = look('a')
    await clock.advance(5)
    expect([bad.seen, good.seen]).toEqual([{ type: 'bad-key' }, held])
    expect(store.calls).toEqual([['a']])
    expect([counted('bad-key'), counted('answered'), counted('unanswered')]).toEqual([1, 1, 0])
  })

  test('that the store refuses costs the others of its call nothing', async () => {
    store.answer = (key) => (key === 'k3' ? refused : held)
    const all = looks(10)
    await clock.advance(5)
    const sentence = "Redis refuses looks: NOPERM this user has no permissions to run the 'get' command"
    expect(all[3]?.seen).toMatchObject({
      type: 'unavailable',
      problem: { message: sentence, publicMessage: "Redis refuses looks: NOPERM, for the 'get' command" },
    })
    expect(types(all.filter(({ key }) => key !== 'k3'))).toEqual(['looked'])
    expect(events[0]).toMatchObject({ type: 'store-asked', keys: 10, problem: { message: sentence } })
    // And there is no pause.
    looks(1)
    await clock.advance(0)
    expect(store.calls).toHaveLength(2)
    await clock.advance(5)
  })

  test('of a node that is silent costs those of other nodes nothing', async () => {
    store.answer = (key) => (key.startsWith('dead:') ? 'never' : held)
    const dead = looks(300, 'first-waiter', 'dead:')
    const well = looks(300, 'first-waiter', 'well:')
    await clock.advance(15)
    expect([types(dead), types(well)]).toEqual([[undefined], ['looked']])
    await clock.advance(10_000)
    expect(types(dead)).toEqual(['unavailable'])
  })
})

describe('a store', () => {
  test('that does not answer within 2 s is told to give up, and what it then knows of some is used', async () => {
    const answers: LookOutcome[] = [held, unknown]
    store.look = (_, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(answers), { once: true }))
    const [answered, not] = looks(2)
    await clock.advance(1_999)
    expect(answered?.seen).toBeUndefined()
    await clock.advance(1)
    expect(answered?.seen).toEqual(held)
    expect(not?.seen).toMatchObject({ problem: { message: 'Redis does not answer looks: Connection is closed.' } })
  })

  test('that throws, or answers fewer than it was asked for, has answered nothing else', async () => {
    store.look = () => {
      throw new Error('broken')
    }
    const thrown = look('a')
    await clock.advance(0)
    expect(thrown.seen).toMatchObject({ problem: { message: 'Redis does not answer looks: broken' } })
    store.look = async () => [held]
    const [first, second] = looks(2)
    await clock.advance(1_000)
    expect([first?.seen?.type, second?.seen?.type]).toEqual(['looked', 'unavailable'])
  })

  test('that never answers costs no one more than 6 s, with one call under way, and longer pauses', async () => {
    store.answer = () => 'never'
    const all: TestLook[] = []
    for (let ms = 0; ms < 60_000; ms += 100) {
      all.push(...looks(5, ms % 200 ? 'first-waiter' : 'reconnected', `k${ms}-`))
      await clock.advance(100)
      if (ms > 3_000) expect(store.underWay).toBeLessThan(2)
    }
    await clock.advance(6_000)
    expect(types(all)).toEqual(['unavailable'])
    expect(Math.max(...all.map(({ dueMs, seenMs }) => seenMs - dueMs))).toBeLessThan(6_000)
    expect(store.calls.length).toBeLessThan(66_000 / 2_050)
    expect(counted('unanswered')).toBe(all.length)
  })

  test('that refuses everything is not asked a thousand times a second; and is asked soon after it would answer', async () => {
    store.answer = () => refused
    for (let ms = 0; ms < 30_000; ms += 10) {
      looks(10, 'expiry', `k${ms}-`)
      await clock.advance(10)
    }
    expect(store.calls.length).toBeLessThan(80)
    store.answer = () => held
    // The longest pause, and at most 3,000 looks that have gathered, in 12 pairs of calls.
    await clock.advance(1_000 + 12 * 5)
    const last = look('last')
    await clock.advance(10)
    expect(last.seen).toEqual(held)
  })

  test('that is slow for a while with 20,000 keys due is asked about all of them, once each but for a few', async () => {
    store.answer = () => 'never'
    const all = looks(20_000, 'reconnected')
    await clock.advance(1_500)
    expect(store.calls.flat()).toHaveLength(256)
    store.answer = () => held
    await clock.advance(10_000)
    // Those that had been due for two seconds by then are told, and come again by themselves.
    const answered = all.filter(({ seen }) => seen?.type === 'looked')
    const asked = new Set(store.calls.flat())
    expect(store.calls.flat()).toHaveLength(asked.size)
    expect(answered).toHaveLength(asked.size - 256)
    expect(types(all)).not.toContain(undefined)
  })

  test('that answers at all has each wanted look sent in its time, whatever else is due', async () => {
    const { random, seed } = seededRandom()
    const longestAnswerMs = 100
    store.delayMs = () => random() * longestAnswerMs
    // Never nothing but refusals: then there would be a pause.
    store.answer = (_, index) => (index > 0 && random() < 0.1 ? refused : held)
    const lines = { 'passed-on': 96, reconnected: 32 } as const
    const all: (TestLook & { readonly reason: LookReason; readonly boundMs: number })[] = []
    for (let turn = 0; turn < 200; turn++) {
      const ahead = { 'passed-on': 0, reconnected: 0 }
      for (const { seen, reason } of all) if (!seen) ahead[reason as keyof typeof lines]++
      for (let count = Math.floor(random() ** 4 * 400); count > 0; count--) {
        const reason: keyof typeof lines = random() < 0.5 ? 'passed-on' : 'reconnected'
        // So many of each call are for those, one call is under way before, and its answer is waited for.
        const calls = 2 + Math.floor(ahead[reason]++ / lines[reason])
        const boundMs = 20 + calls * longestAnswerMs
        all.push(Object.assign(look(`${turn}-${count}`, reason), { reason, boundMs }))
      }
      await clock.advance(random() * 200)
    }
    await clock.advance(60_000)
    for (const { key, seen, seenMs, dueMs, boundMs } of all) {
      if (!seen || seenMs - dueMs > boundMs) {
        throw new Error(`seed ${seed}: ${key} was ${seen?.type} after ${seenMs - dueMs} ms, and may take ${boundMs}`)
      }
    }
    expect(all.length).toBeGreaterThan(1_000)
    expect(store.mostUnderWay).toBeLessThanOrEqual(2)
  })
})
