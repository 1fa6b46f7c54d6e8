import { ManualClock, seededRandom } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import type { Check, Seen } from '../../packages/bridge/src/server/paced-check.ts'
import type { WaitAnswer } from '../../packages/bridge/src/server/poll-queue.ts'
import { WatchedKeys } from '../../packages/bridge/src/server/watched-keys.ts'
import { rounds } from '../support/scale.ts'
import { between, pick, type Random } from '../support/weighted.ts'

/*
 * A lock that changes hands, is left to expire, or is taken and left idle, among polls and streams that come and go,
 * slow or failing checks, and releases that nobody could hear: no waiter may be forgotten.
 */

interface Weather {
  /** How long a check may take, in milliseconds; half of it passes before the store is asked. */
  readonly checkMs: number
  /** The share of checks that the store does not answer. */
  readonly failing: number
  /** Whether the listening connection is lost now and then. */
  readonly disconnects: boolean
}

/**
 * Figures of the bridge: a turn, the interval of checks, that of releases on a stream, and the retry after a failed
 * check.
 */
const [turnMs, paceMs, releasePaceMs, retryMs] = [500, 250, 50, 1_000]
const spreadMs = 300
const stepMs = 5
const runMs = 12_000

interface Poll {
  readonly forResult: boolean
  leave(): void
}

interface Stream {
  readonly sinceMs: number
  stop(): void
  lastHeard: 'nothing' | 'held' | 'free'
  lastReleaseMs: number
  /** When the bridge heard a release that this stream has not been told of yet. */
  owedSinceMs: number | undefined
}

class Run {
  readonly clock = new ManualClock()
  readonly keys: WatchedKeys
  readonly #random: Random
  readonly #weather: Weather
  readonly #polls = new Set<Poll>()
  readonly #streams = new Set<Stream>()
  #holder: { readonly cursor: string; endsMs: number } | undefined
  #fence = 1
  #isDisconnected = false
  /** Since when everybody could have known that the lock is free, without anybody being told. */
  #quietSinceMs = 0
  /** Since when, as far as the bridge can know, the lock is free. */
  #freeSinceMs = 0
  #lastCheckMs = Number.NEGATIVE_INFINITY
  readonly faults: string[] = []

  constructor(random: Random, weather: Weather, keysOf = (keys: WatchedKeys) => keys) {
    this.#random = random
    this.#weather = weather
    this.keys = keysOf(new WatchedKeys({ clock: this.clock, check: this.#check }))
  }

  async play(): Promise<readonly string[]> {
    const random = this.#random
    for (let nextActMs = 0; this.clock.monotonicMs() < runMs; ) {
      if (this.clock.monotonicMs() >= nextActMs) {
        this.#act()
        nextActMs = this.clock.monotonicMs() + pick(random, this.#pauses)
      }
      await this.clock.advance(stepMs)
      this.#expire()
      this.#judge()
    }
    for (const poll of [...this.#polls]) poll.leave()
    for (const stream of [...this.#streams]) stream.stop()
    await this.clock.advance(8_000)
    if (this.keys.size + this.clock.pending > 0) this.#fault('something is left when all have gone')
    return this.faults
  }

  get #pauses() {
    return [
      [6, between(this.#random, 0, 40)],
      [2, between(this.#random, 40, 400)],
      [1, between(this.#random, 400, 2_500)],
    ] as const
  }

  get #nowMs(): number {
    return this.clock.monotonicMs()
  }

  #fault(text: string): void {
    this.faults.push(`${text}, at ${this.#nowMs} ms`)
  }

  #act(): void {
    const random = this.#random
    pick<() => void>(random, [
      [4, () => this.#poll()],
      [1, () => times(between(random, 10, 60), () => this.#poll())],
      [3, () => this.#follow()],
      [1, () => times(between(random, 10, 60), () => this.#follow())],
      [2, () => one(random, this.#polls)?.leave()],
      [2, () => one(random, this.#streams)?.stop()],
      [1, () => times(100, () => one(random, this.#polls)?.leave())],
      [1, () => times(100, () => one(random, this.#streams)?.stop())],
      [1, () => this.#changeWaiters()],
      [4, () => this.#take()],
      [6, () => this.#release()],
      [1, () => times(between(random, 2, 8), () => this.#changeHands())],
      [this.#weather.disconnects ? 1 : 0, () => this.#loseConnection()],
    ])()
  }

  #poll(): void {
    const random = this.#random
    const client = new AbortController()
    const poll: Poll = { forResult: random() < 0.1, leave: () => client.abort() }
    const cursor = pick(random, [
      [5, this.#holder?.cursor ?? '-'],
      [1, '-'],
      [1, String(this.#fence - 1)],
    ])
    const timeoutMs = pick(random, [
      [1, between(random, 1, 1_000)],
      [4, between(random, 1_000, 25_000)],
    ])
    if (this.#lockPolls === 0) this.#quietSinceMs = this.#nowMs
    this.#polls.add(poll)
    const request = { cursor, timeoutMs, forResult: poll.forResult, gone: client.signal }
    void this.keys
      .get('k')
      .wait(request)
      .then((answer) => this.#answered(poll, answer))
  }

  get #lockPolls(): number {
    let count = 0
    for (const { forResult } of this.#polls) if (!forResult) count++
    return count
  }

  /** Some take the lock, some ask again, and many do neither. */
  #answered(poll: Poll, { type }: WaitAnswer): void {
    this.#polls.delete(poll)
    if (type === 'changed' && !poll.forResult) this.#quietSinceMs = this.#nowMs
    if (type !== 'changed') return
    pick<() => void>(this.#random, [
      [3, () => void this.clock.schedule(() => this.#take(), between(this.#random, 0, 100))],
      [1, () => this.#poll()],
      [4, () => undefined],
    ])()
  }

  #follow(): void {
    const stream: Stream = {
      sinceMs: this.#nowMs,
      lastHeard: 'nothing',
      lastReleaseMs: Number.NEGATIVE_INFINITY,
      owedSinceMs: undefined,
      stop: () => {
        this.#streams.delete(stream)
        leave()
      },
    }
    this.#streams.add(stream)
    const leave = this.keys.get('k').follow({
      state: ({ held }) => {
        stream.lastHeard = held ? 'held' : 'free'
      },
      released: () => {
        if (this.#nowMs < stream.lastReleaseMs + releasePaceMs) this.#fault('a stream is told too often')
        stream.lastReleaseMs = this.#nowMs
        stream.lastHeard = 'free'
        stream.owedSinceMs = undefined
      },
      unavailable: () => void this.#streams.delete(stream),
    })
  }

  #take(): void {
    if (this.#holder) return
    const ttlMs = pick(this.#random, [
      [2, between(this.#random, 50, 2_000)],
      [1, 60_000],
    ])
    this.#holder = { cursor: String(++this.#fence), endsMs: this.#nowMs + ttlMs }
  }

  #release(): void {
    if (!this.#holder) return
    this.#holder = undefined
    this.#becomesFree()
    if (this.#isDisconnected) return
    for (const stream of this.#streams) stream.owedSinceMs ??= this.#nowMs
    this.keys.released('k')
  }

  /** Everyone leaves, and soon somebody else comes. */
  #changeWaiters(): void {
    for (const poll of [...this.#polls]) poll.leave()
    for (const stream of [...this.#streams]) stream.stop()
    const come = (): void => {
      if (this.#nowMs < runMs) this.#poll()
    }
    this.clock.schedule(come, between(this.#random, 0, this.#weather.checkMs))
  }

  #changeHands(): void {
    this.#take()
    this.#release()
  }

  #expire(): void {
    if (!this.#holder || this.#holder.endsMs > this.#nowMs) return
    this.#holder = undefined
    this.#becomesFree()
  }

  #becomesFree(): void {
    this.#freeSinceMs = Math.max(this.#freeSinceMs, this.#nowMs)
  }

  #loseConnection(): void {
    if (this.#isDisconnected) return
    this.#isDisconnected = true
    const back = (): void => {
      this.#isDisconnected = false
      this.#freeSinceMs = this.#nowMs + spreadMs
      this.keys.checkAgain(spreadMs)
    }
    this.clock.schedule(back, between(this.#random, 10, 1_500))
  }

  readonly #check: Check = async (_, __, wanted = () => true): Promise<Seen> => {
    if (this.#nowMs < this.#lastCheckMs + paceMs) this.#fault('a check comes too soon')
    this.#lastCheckMs = this.#nowMs
    await this.#pause()
    if (!wanted()) return { type: 'unavailable' }
    const fails = this.#random() < this.#weather.failing
    const holder = this.#holder
    const expiresInMs = holder ? Math.floor(holder.endsMs - this.#nowMs) : null
    await this.#pause()
    // Until then nobody can know.
    if (fails) this.#freeSinceMs = Math.max(this.#freeSinceMs, this.#nowMs + retryMs)
    if (fails) return { type: 'unavailable' }
    return { type: 'checked', changed: !holder, cursor: holder?.cursor ?? '-', expiresInMs }
  }

  #pause(): Promise<void> {
    const delayMs = between(this.#random, 0, this.#weather.checkMs / 2)
    return new Promise((resolve) => void this.clock.schedule(resolve, delayMs))
  }

  #judge(): void {
    const nowMs = this.#nowMs
    for (const { owedSinceMs = nowMs } of this.#streams)
      if (nowMs - owedSinceMs > releasePaceMs + stepMs) this.#fault('a stream is not told of a release')
    if (this.#holder || this.#isDisconnected) return
    // A check in flight when somebody arrives is worthless, and the next has to keep its interval.
    const checkedMs = 2 * paceMs + 2 * this.#weather.checkMs + 2 * stepMs
    if (this.#lockPolls > 0 && nowMs - Math.max(this.#quietSinceMs, this.#freeSinceMs) > turnMs + checkedMs)
      this.#fault('nobody is woken though the lock is free')
    for (const { sinceMs, lastHeard } of this.#streams) {
      // What nobody announced is known at the next check, which may be the one at the end of a turn.
      if (lastHeard !== 'free' && nowMs - Math.max(sinceMs, this.#freeSinceMs) > turnMs + checkedMs)
        this.#fault(`a stream has heard ${lastHeard} though the lock is free`)
    }
  }
}

function times(count: number, act: () => void): void {
  for (let time = 0; time < count; time++) act()
}

function one<T>(random: Random, all: ReadonlySet<T>): T | undefined {
  return [...all][Math.floor(random() * all.size)]
}

const { seed } = seededRandom()

async function played(each: number, weather: Weather, keysOf?: (keys: WatchedKeys) => WatchedKeys) {
  const { random } = seededRandom(each)
  const real = Math.random
  Math.random = random
  try {
    return await new Run(random, weather, keysOf).play()
  } finally {
    Math.random = real
  }
}

async function expectNobodyForgotten(weather: Weather, runs: number): Promise<void> {
  for (let run = seed; run < seed + runs; run++) {
    const faults = await played(run, weather)
    expect(faults.slice(0, 3), `LEASEHOLD_SEED=${run}, after ${run - seed} runs without a fault`).toEqual([])
  }
}

/** Far more than a quiet machine needs, in milliseconds. */
const timeout = 600_000

describe('a waiter at a bridge is woken soon after the lock is free, and told the truth', () => {
  it(
    'whoever comes, leaves, or does not take it',
    async () => {
      await expectNobodyForgotten({ checkMs: 0, failing: 0, disconnects: false }, rounds(1_000, 25))
    },
    timeout,
  )

  it(
    'when checks take their time, or fail',
    async () => {
      await expectNobodyForgotten({ checkMs: 100, failing: 0.1, disconnects: false }, rounds(1_000, 25))
    },
    timeout,
  )

  it(
    'when releases are missed',
    async () => {
      await expectNobodyForgotten({ checkMs: 60, failing: 0.02, disconnects: true }, rounds(1_000, 25))
    },
    timeout,
  )
})

it('a run is judged wrong in which releases are forgotten', async () => {
  const forgetful = (keys: WatchedKeys): WatchedKeys => {
    let releases = 0
    const released = keys.released.bind(keys)
    keys.released = (key) => (++releases % 2 ? undefined : released(key))
    return keys
  }
  let faults = 0
  for (let run = seed; run < seed + 5; run++) {
    faults += (await played(run, { checkMs: 0, failing: 0, disconnects: false }, forgetful)).length
  }
  expect(faults).toBeGreaterThan(0)
})
