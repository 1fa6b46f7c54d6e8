import { InvalidOptionError } from '@leasehold/core'
import type { LookOutcome, LookRequest, QueueStore } from '@leasehold/core/queue'
import { ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { BridgeEvent } from './bridge-events.ts'
import { PlaceKeeper } from './place-keeper.ts'

/** A call to the store, with the function that answers it. */
interface Call {
  readonly requests: readonly LookRequest[]
  readonly answer: (outcomes: readonly LookOutcome[]) => void
}

let clock: ManualClock
let calls: Call[]
let events: BridgeEvent[]
/** Answers each request at once; if undefined, the test answers. */
let says: ((request: LookRequest) => LookOutcome) | undefined
let keeper: PlaceKeeper
/** The outcome of each poll, by the waiter's name. */
let told: Record<string, string>

const still = (againInMs: number | null = null): LookOutcome => ({ type: 'looked', turns: [], missing: [], againInMs })

beforeEach(() => {
  clock = new ManualClock()
  calls = []
  events = []
  told = {}
  says = () => still()
  const queue = {
    look: (requests: readonly LookRequest[]) =>
      new Promise<readonly LookOutcome[]>((answer) => {
        calls.push({ requests, answer })
        if (says) answer(requests.map(says))
      }),
  } as Partial<QueueStore> as QueueStore
  const store = { nodeOf: (key: string) => key.slice(0, 1) }
  keeper = new PlaceKeeper({ queue, store, clock, onEvent: (event) => events.push(event) })
})
afterEach(async () => {
  keeper.close()
  // A call may be in flight, and has a deadline.
  await clock.advance(2_050)
  expect(clock.pending).toBe(0)
})

const nameOf = (index: number): string => `${String(index).padStart(32, '0')}.1`

/** Polls for the waiter with that index. Resolves with a function that makes its client leave. */
async function poll(key: string, index: number, timeoutMs = 25_000): Promise<() => void> {
  const leave = begin(key, index, timeoutMs)
  await clock.advance(0)
  return leave
}

function begin(key: string, index: number, timeoutMs = 25_000): () => void {
  const gone = new AbortController()
  const name = nameOf(index)
  const waiter = { name, inbox: name.slice(0, 32), number: 1 }
  void keeper.wait(key, { waiter, cursor: '-', timeoutMs, gone: gone.signal }).then(({ type }) => {
    told[index] = type
  })
  return () => gone.abort()
}

test('asks about a new waiter at once, and about all each two seconds, in one call', async () => {
  for (let index = 0; index < 3; index++) {
    await poll('k', index)
    await clock.advance(100)
  }
  expect(calls.map(({ requests }) => requests.length)).toEqual([1, 1, 1])
  expect(calls[0]?.requests[0]).toEqual({ key: 'k', inbox: nameOf(0).slice(0, 32), aliveMs: 18_000, numbers: [1] })
  await clock.advance(20_000)
  expect(calls.length).toBeGreaterThanOrEqual(13)
  expect(calls.length).toBeLessThanOrEqual(14)
  expect(new Set(calls.slice(3).map(({ requests }) => requests.length))).toEqual(new Set([3]))
  expect(told).toEqual({})
})

test('a turn that is announced answers that waiter alone, without a look', async () => {
  await poll('k', 1)
  await poll('k', 2)
  const before = calls.length
  keeper.turn('k', nameOf(2))
  keeper.turn('k', nameOf(3))
  keeper.turn('another', nameOf(1))
  await clock.advance(0)
  expect([told, calls.length]).toEqual([{ 2: 'changed' }, before])
})

test('whoever has the turn, or is missing, is told', async () => {
  says = ({ inbox }) => {
    if (inbox.endsWith('1')) return { ...still(), turns: [1] } as LookOutcome
    return inbox.endsWith('2') ? ({ ...still(), missing: [1] } as LookOutcome) : still()
  }
  for (const index of [1, 2, 3]) await poll('k', index)
  expect(told).toEqual({ 1: 'changed', 2: 'changed' })
})

test('a release, and what the store has said will end, cost one look for the key, however many wait', async () => {
  for (let index = 0; index < 20; index++) await poll('k', index)
  let before = calls.length
  await clock.advance(100)
  keeper.released('k')
  await clock.advance(0)
  expect(calls.slice(before).map(({ requests }) => requests.length)).toEqual([1])
  says = () => still(300)
  await clock.advance(20)
  keeper.released('k')
  await clock.advance(0)
  before = calls.length
  await clock.advance(305)
  expect(calls.slice(before).map(({ requests }) => requests.length)).toEqual([1])
})

test('releases in quick succession cost a look each 10 ms at most', async () => {
  await poll('k', 1)
  const before = calls.length
  for (let ms = 0; ms < 100; ms++) {
    keeper.released('k')
    await clock.advance(1)
  }
  expect(calls.length - before).toBeLessThanOrEqual(11)
})

test('a call asks about 100 at most, and two are under way at most for a node', async () => {
  says = undefined
  for (let index = 0; index < 350; index++) begin('k', index)
  await clock.advance(0)
  expect(calls.map(({ requests }) => requests.length)).toEqual([100, 100])
  await poll('other-node', 999)
  expect(calls.length).toBe(3)
  says = () => still()
  for (const { requests, answer } of [...calls]) answer(requests.map(() => still()))
  await clock.advance(0)
  expect(calls.map(({ requests }) => requests.length)).toEqual([100, 100, 1, 100, 50])
})

test('where the store refuses, the poll is a plain one; where it is silent, the waiter is sent away', async () => {
  says = () => ({ type: 'refused', error: new InvalidOptionError('queue', 'NOPERM') })
  await poll('k', 1)
  expect(told).toEqual({ 1: 'unkept' })
  says = undefined
  await poll('k', 2)
  await clock.advance(2_050)
  expect(told[2]).toBe('unavailable')
  expect(events.filter((event) => 'problem' in event).length).toBe(2)
})

test('a store that falls silent for a moment sends nobody away, and for longer everybody', async () => {
  await poll('k', 1)
  says = undefined
  await clock.advance(3_900)
  calls.at(-1)?.answer([still()])
  await clock.advance(0)
  expect(told).toEqual({})
  await clock.advance(10_000)
  expect(told).toEqual({ 1: 'unavailable' })
})

test('nothing is asked for who has left, or whose time is up', async () => {
  const leave = await poll('k', 1)
  await poll('k', 2, 5_000)
  leave()
  await clock.advance(5_000)
  expect(told).toEqual({ 1: 'gone', 2: 'unchanged' })
  const before = calls.length
  keeper.released('k')
  await clock.advance(10_000)
  expect([calls.length, clock.pending]).toEqual([before, 0])
})

test('after messages may have been missed it asks about everybody, and when it closes it sends everybody away', async () => {
  await poll('k', 1)
  await poll('k', 2)
  const before = calls.length
  keeper.lookAgain()
  await clock.advance(0)
  expect(calls.slice(before).map(({ requests }) => requests.length)).toEqual([2])
  keeper.close()
  await poll('k', 3)
  expect(told).toEqual({ 1: 'unavailable', 2: 'unavailable', 3: 'unavailable' })
})
