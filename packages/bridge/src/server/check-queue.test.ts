import { type Clock, InvalidOptionError, LeaseholdError } from '@leasehold/core'
import type { CallDeadline, CheckOutcome, CheckRequest } from '@leasehold/core/adapter'
import { ManualClock, seededRandom } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { BridgeEvent, CheckReason } from './bridge-events.ts'
import { CheckQueue } from './check-queue.ts'
import type { Seen } from './paced-check.ts'

type Answer = CheckOutcome | 'never'

/** A store whose answers, and their timing, a test sets. Keys `x:…` belong to node `x`. */
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

  /** As the port allows: it may never settle, and it may ignore an abort. */
  checkHolders(requests: readonly CheckRequest[], { signal }: CallDeadline): Promise<readonly CheckOutcome[]> {
    this.calls.push(requests.map(({ key }) => key))
    this.signals.push(signal)
    this.mostUnderWay = Math.max(this.mostUnderWay, ++this.underWay)
    signal.addEventListener('abort', () => this.underWay--)
    return new Promise((resolve) => {
      const answers = requests.map(({ key }, index) => this.answer(key, index))
      if (answers.includes('never')) return
      const done = (): void => {
        this.underWay--
        resolve(answers as CheckOutcome[])
      }
      this.#clock.schedule(done, this.delayMs())
    })
  }
}

const held: CheckOutcome = { type: 'checked', changed: false, cursor: '1', expiresInMs: 10_000 }
const refused: CheckOutcome = {
  type: 'refused',
  error: new LeaseholdError('STORE_UNAVAILABLE', 'refused the request; see the cause', {
    cause: new Error("NOPERM this user has no permissions to run the 'get' command"),
  }),
}
const unknown: CheckOutcome = { type: 'unknown', executed: 'no', cause: new Error('Connection is closed.') }

let clock: ManualClock
let store: TestStore
let events: BridgeEvent[]
let queue: CheckQueue
beforeEach(() => {
  clock = new ManualClock()
  store = new TestStore(clock)
  events = []
  queue = new CheckQueue({ store, clock, onEvent: (event) => events.push(event) })
})
afterEach(() => {
  expect(clock.pending).toBe(0)
})

interface TestCheck {
  readonly key: string
  readonly dueMs: number
  seen: Seen | undefined
  seenMs: number
}

function check(key: string, reason: CheckReason = 'first-waiter', wanted?: () => boolean): TestCheck {
  const checking: TestCheck = { key, dueMs: clock.monotonicMs(), seen: undefined, seenMs: Number.NaN }
  void queue.check(key, reason, wanted).then((seen) => {
    checking.seen = seen
    checking.seenMs = clock.monotonicMs()
  })
  return checking
}

const checks = (count: number, reason?: CheckReason, name = 'k'): TestCheck[] =>
  Array.from({ length: count }, (_, index) => check(`${name}${index}`, reason))

const types = (checking: readonly TestCheck[]): readonly (string | undefined)[] => [
  ...new Set(checking.map(({ seen }) => seen?.type)),
]
const counted = (outcome: string): number =>
  events.filter((event) => event.type === 'check' && event.outcome === outcome).length

describe('checks', () => {
  test('that are due in one turn are one call', async () => {
    const all = checks(50)
    await clock.advance(5)
    expect(store.calls.map(({ length }) => length)).toEqual([50])
    expect(all[0]?.seen).toEqual(held)
    expect([types(all), counted('answered')]).toEqual([['checked'], 50])
    expect(events[0]).toEqual({ type: 'store-asked', keys: 50 })
  })

  test('are 128 in a call at most, and two calls under way, in the order in which they were due', async () => {
    const all = checks(1_000)
    await clock.advance(1_000)
    expect(store.calls.map(({ length }) => length)).toEqual([128, 128, 128, 128, 128, 128, 128, 104])
    expect(store.calls.flat()).toEqual(all.map(({ key }) => key))
    expect(store.mostUnderWay).toBe(2)
    expect(types(all)).toEqual(['checked'])
  })

  test('that come while calls are under way gather for the next', async () => {
    checks(1, 'first-waiter', 'a')
    await clock.advance(1)
    checks(1, 'first-waiter', 'b')
    await clock.advance(1)
    for (const name of ['c', 'd', 'e']) {
      checks(10, 'first-waiter', name)
      await clock.advance(1)
    }
    await clock.advance(100)
    expect(store.calls.map(({ length }) => length)).toEqual([1, 1, 30])
  })

  test('that nobody wants any more are not sent, and not counted', async () => {
    checks(256)
    await clock.advance(0)
    let wanted = true
    const left = check('left', 'first-waiter', () => wanted)
    const stays = check('stays', 'first-waiter', () => true)
    wanted = false
    await clock.advance(100)
    expect([left.seen, stays.seen]).toEqual([{ type: 'unwanted' }, held])
    expect(store.calls.flat()).not.toContain('left')
    expect(events.filter(({ type }) => type === 'check')).toHaveLength(257)
  })

  test('after a reconnect wait for each other, 20 ms at most, and let others go first', async () => {
    for (let index = 0; index < 20; index++) {
      check(`r${index}`, 'reconnected')
      await clock.advance(1)
    }
    expect(store.calls.map(({ length }) => length)).toEqual([20])
    await clock.advance(5)
    const late = checks(500, 'reconnected', 'late')
    const first = checks(100)
    await clock.advance(0)
    expect(store.calls.slice(1).map((keys) => keys.filter((key) => key.startsWith('k')).length)).toEqual([96, 4])
    await clock.advance(100)
    expect([types(late), types(first)]).toEqual([['checked'], ['checked']])
  })

  test('after a reconnect come to their turn however many others are due all the time', async () => {
    const again = checks(100, 'reconnected', 'again')
    checks(512)
    for (let ms = 0; ms < 50; ms++) {
      // Twice as many as can be sent.
      checks(103, 'expiry', `m${ms}-`)
      await clock.advance(1)
    }
    expect(types(again)).toEqual(['checked'])
    await clock.advance(1_000)
  })
})

describe('a key', () => {
  test('that can be none is told so, and is in no call', async () => {
    const bad = check('a}b')
    const good = check('a')
    await clock.advance(5)
    expect([bad.seen, good.seen]).toEqual([{ type: 'bad-key' }, held])
    expect(store.calls).toEqual([['a']])
    expect([counted('bad-key'), counted('answered'), counted('unanswered')]).toEqual([1, 1, 0])
  })

  test('that the store refuses costs the others of its call nothing', async () => {
    store.answer = (key) => (key === 'k3' ? refused : held)
    const all = checks(10)
    await clock.advance(5)
    const sentence = "Redis refuses checks: NOPERM this user has no permissions to run the 'get' command"
    expect(all[3]?.seen).toMatchObject({
      type: 'unavailable',
      problem: { message: sentence, publicMessage: "Redis refuses checks: NOPERM, for the 'get' command" },
    })
    expect(types(all.filter(({ key }) => key !== 'k3'))).toEqual(['checked'])
    expect(events[0]).toMatchObject({ type: 'store-asked', keys: 10, problem: { message: sentence } })
    // There is no pause either.
    checks(1)
    await clock.advance(0)
    expect(store.calls).toHaveLength(2)
    await clock.advance(5)
  })

  test('of a node that is silent costs those of other nodes nothing', async () => {
    store.answer = (key) => (key.startsWith('dead:') ? 'never' : held)
    const dead = checks(300, 'first-waiter', 'dead:')
    const well = checks(300, 'first-waiter', 'well:')
    await clock.advance(15)
    expect([types(dead), types(well)]).toEqual([[undefined], ['checked']])
    await clock.advance(10_000)
    expect(types(dead)).toEqual(['unavailable'])
  })
})

describe('a store', () => {
  test('that does not answer within 2 s is told to give up, and what it then knows of some is used', async () => {
    const answers: CheckOutcome[] = [held, unknown]
    store.checkHolders = (_, deadline) => new Promise((resolve) => deadline.onOver(() => resolve(answers)))
    const [answered, not] = checks(2)
    await clock.advance(1_999)
    expect(answered?.seen).toBeUndefined()
    await clock.advance(1)
    expect(answered?.seen).toEqual(held)
    expect(not?.seen).toMatchObject({ problem: { message: 'Redis does not answer checks: Connection is closed.' } })
  })

  test('that throws, or answers fewer than it was asked for, has answered nothing else', async () => {
    store.checkHolders = () => {
      throw new Error('broken')
    }
    const thrown = check('a')
    await clock.advance(0)
    expect(thrown.seen).toMatchObject({ problem: { message: 'Redis does not answer checks: broken' } })
    store.checkHolders = async () => [held]
    const [first, second] = checks(2)
    await clock.advance(1_000)
    expect([first?.seen?.type, second?.seen?.type]).toEqual(['checked', 'unavailable'])
  })

  test('that never answers costs no one more than 6 s, with one call under way, and longer pauses', async () => {
    store.answer = () => 'never'
    const all: TestCheck[] = []
    for (let ms = 0; ms < 60_000; ms += 100) {
      all.push(...checks(5, ms % 200 ? 'first-waiter' : 'reconnected', `k${ms}-`))
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
      checks(10, 'expiry', `k${ms}-`)
      await clock.advance(10)
    }
    expect(store.calls.length).toBeLessThan(80)
    store.answer = () => held
    // The longest pause, plus at most 3,000 gathered checks in 12 pairs of calls.
    await clock.advance(1_000 + 12 * 5)
    const last = check('last')
    await clock.advance(10)
    expect(last.seen).toEqual(held)
  })

  test('that is slow for a while with 20,000 keys due is asked about all of them, once each but for a few', async () => {
    store.answer = () => 'never'
    const all = checks(20_000, 'reconnected')
    await clock.advance(1_500)
    expect(store.calls.flat()).toHaveLength(256)
    store.answer = () => held
    await clock.advance(10_000)
    // Checks that had been due for two seconds by then were answered without a call, and their waiters retry on their
    // own.
    const answered = all.filter(({ seen }) => seen?.type === 'checked')
    const asked = new Set(store.calls.flat())
    expect(store.calls.flat()).toHaveLength(asked.size)
    expect(answered).toHaveLength(asked.size - 256)
    expect(types(all)).not.toContain(undefined)
  })

  test('that answers at all has each wanted check sent in its time, whatever else is due', async () => {
    const { random, seed } = seededRandom()
    const longestAnswerMs = 100
    store.delayMs = () => random() * longestAnswerMs
    // Never refuses a whole call: that would cause a pause.
    store.answer = (_, index) => (index > 0 && random() < 0.1 ? refused : held)
    const lines = { 'passed-on': 96, reconnected: 32 } as const
    const all: (TestCheck & { readonly reason: CheckReason; readonly boundMs: number })[] = []
    for (let turn = 0; turn < 200; turn++) {
      const ahead = { 'passed-on': 0, reconnected: 0 }
      for (const { seen, reason } of all) if (!seen) ahead[reason as keyof typeof lines]++
      for (let count = Math.floor(random() ** 4 * 400); count > 0; count--) {
        const reason: keyof typeof lines = random() < 0.5 ? 'passed-on' : 'reconnected'
        // Each call reserves `lines[reason]` places for its reason. One call is in flight before, and one more brings
        // the answer.
        const calls = 2 + Math.floor(ahead[reason]++ / lines[reason])
        const boundMs = 20 + calls * longestAnswerMs
        all.push(Object.assign(check(`${turn}-${count}`, reason), { reason, boundMs }))
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
