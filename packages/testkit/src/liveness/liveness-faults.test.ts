import { backoff, poll } from '@leasehold/core'
import { describe, expect, it } from 'vitest'
import { patienceMs } from './bound.ts'
import { type LivenessOptions, livenessFaults } from './liveness-faults.ts'
import type { LockChange, RecordedWait, SentRequest } from './lock-record.ts'

const key = 'k'
const grant = (process: string, atMs: number, ttlMs = 10_000, fence = 1): LockChange => {
  return { type: 'granted', key, atMs, expiresAtMs: atMs + ttlMs, process, fence, fences: 17 }
}
const extension = (atMs: number, ttlMs: number): LockChange => ({
  type: 'extended',
  key,
  atMs,
  expiresAtMs: atMs + ttlMs,
})
const freed = (type: 'released' | 'revoked', atMs: number): LockChange => ({ type, key, atMs })
const acquire = (process: string, atMs: number, endedAtMs = atMs, answered = true): SentRequest => {
  return { name: 'acquire', key, process, atMs, endedAtMs, answered }
}
/** An unfinished wait of a minute, by a waiter that asks at least every 100 ms. */
const waiter = (sinceMs: number, more: Partial<RecordedWait> = {}): RecordedWait => {
  return { key, process: 'a', sinceMs, waitMs: 60_000, patienceMs: 100, ...more }
}

interface Crafted {
  readonly endMs: number
  readonly changes?: readonly LockChange[]
  readonly requests?: readonly SentRequest[]
  readonly waits: readonly RecordedWait[]
  readonly options?: LivenessOptions
}

const rules = ({ endMs, changes = [], requests = [], waits, options = {} }: Crafted): readonly string[] =>
  livenessFaults({ endMs, changes, requests, waits }, options).map(({ rule }) => rule)

const held = [grant('b', 0), freed('released', 1_000)]

describe('a lock that is free while somebody waits', () => {
  it('is wrong after the waiter’s bound, and not before', () => {
    expect(rules({ endMs: 1_106, changes: held, waits: [waiter(500)] })).toEqual(['free'])
    expect(rules({ endMs: 1_104, changes: held, waits: [waiter(500)] })).toEqual([])
  })

  it('counts from when the waiter came, and only until somebody had the lock', () => {
    expect(rules({ endMs: 2_050, changes: held, waits: [waiter(2_000)] })).toEqual([])
    const taken = [...held, grant('c', 1_080, 10_000, 100)]
    expect(rules({ endMs: 9_000, changes: taken, requests: [acquire('a', 1_050)], waits: [waiter(500)] })).toEqual([])
  })

  it('may wait for one who asks half as often, for nobody slower, and for nobody of another process', () => {
    const beside = (patience: number, process = 'a'): Crafted => {
      const other = waiter(400, { patienceMs: patience, process })
      return { endMs: 1_150, changes: held, waits: [other, waiter(500)] }
    }
    expect(rules(beside(200))).toEqual([])
    expect(rules(beside(201))).toEqual(['free'])
    expect(rules(beside(200, 'c'))).toEqual(['free'])
  })

  it('is free though somebody extends what is gone', () => {
    const changes = [...held, extension(1_001, 10_000)]
    expect(rules({ endMs: 1_200, changes, waits: [waiter(500)] })).toEqual(['free'])
  })

  it('may be asked for a round trip later', () => {
    expect(rules({ endMs: 1_140, changes: held, waits: [waiter(500)], options: { roundTripMs: 20 } })).toEqual([])
    expect(rules({ endMs: 1_146, changes: held, waits: [waiter(500)], options: { roundTripMs: 20 } })).toEqual(['free'])
  })

  it('may stay free while an acquire is unanswered, and for a twentieth of that where a release is', () => {
    const judged = (endMs: number, request: SentRequest): readonly string[] =>
      rules({ endMs, changes: held, requests: [request], waits: [waiter(500)] })
    expect(judged(2_050, acquire('a', 1_050, 2_050, false))).toEqual([])
    expect(judged(2_160, acquire('a', 1_050, 2_050, false))).toEqual(['free'])
    expect(judged(1_160, acquire('a', 1_050, 1_050))).toEqual(['free'])
    // A late answer is no better than none.
    expect(judged(1_160, acquire('a', 1_050, 1_150))).toEqual([])
    const release = { ...acquire('a', 1_000, 2_000, false), name: 'release' } as const
    expect(judged(1_200, release)).toEqual([])
    expect(judged(1_210, release)).toEqual(['free'])
    expect(judged(1_150, { ...release, endedAtMs: 1_050 })).toEqual([])
    expect(judged(1_160, { ...release, endedAtMs: 1_050 })).toEqual(['free'])
  })

  it('may stay free for a second more where the waiter’s own process had been robbed of it', () => {
    const robbed = (endMs: number, process: string): readonly string[] =>
      rules({ endMs, changes: [grant(process, 0), freed('revoked', 1_000)], waits: [waiter(500)] })
    expect(robbed(2_100, 'a')).toEqual([])
    expect(robbed(2_110, 'a')).toEqual(['free'])
    expect(robbed(1_110, 'b')).toEqual(['free'])
  })

  it('may stay free for a second more after a check that was to notice that, and was not answered', () => {
    const robbed = (endMs: number, answered: boolean): readonly string[] => {
      const check = { ...acquire('a', 900, answered ? 900 : 2_900, answered), name: 'inspect' } as const
      const changes = [grant('a', 0), freed('revoked', 1_000)]
      return rules({ endMs, changes, requests: [check], waits: [waiter(500)] })
    }
    expect(robbed(4_000, false)).toEqual([])
    expect(robbed(4_010, false)).toEqual(['free'])
    expect(robbed(2_110, true)).toEqual(['free'])
  })

  it('is asked for 41 ms after an expiry that the waiter was told of, however patient it is', () => {
    const patient = waiter(500, { patienceMs: 15_000 })
    const expiring = (requests: readonly SentRequest[], waits = [patient]): readonly string[] =>
      rules({ endMs: 10_050, changes: [grant('b', 0)], requests, waits })
    expect(expiring([acquire('a', 500)])).toEqual(['free'])
    expect(expiring([acquire('b', 500)])).toEqual([])
    // A call that does not wait passes on to nobody what it learns.
    const attempt = waiter(600, { waitMs: 0, endedAtMs: 600, end: 'busy' })
    expect(expiring([acquire('a', 600)], [patient, attempt])).toEqual([])
  })

  it('counts in all, where it was free now and then and the process never asked', () => {
    const changes = [0, 200, 400, 600].flatMap((atMs, index) => [
      grant('b', atMs, 10_000, 1 + 100 * index),
      freed('released', atMs + 150),
    ])
    expect(rules({ endMs: 700, changes, waits: [waiter(50)] })).toEqual(['unasked'])
    expect(rules({ endMs: 700, changes, requests: [acquire('a', 380)], waits: [waiter(50)] })).toEqual([])
    // A request that was sent long before, and carried out at that time.
    const granted = changes.map((change) => (change.atMs === 400 ? grant('a', 400, 10_000, 201) : change))
    expect(rules({ endMs: 700, changes: granted, waits: [waiter(50)] })).toEqual([])
  })
})

describe('a lock that is kept for nobody', () => {
  it('is wrong after what an entry may last twice', () => {
    const kept = (endMs: number): readonly string[] =>
      rules({
        endMs,
        changes: [
          grant('b', 0, 1_000),
          ...[900, 1_800, 2_700, 3_600, 4_500, 5_400].map((atMs) => extension(atMs, 1_000)),
        ],
        waits: [waiter(500)],
      })
    expect(kept(6_000)).toEqual(['nobody'])
    expect(kept(5_000)).toEqual([])
  })

  it('is not, while a caller has it', () => {
    const acquisitionId = waiter(0, { process: 'b', endedAtMs: 0, end: 'granted', fence: 1 })
    const extensions = Array.from({ length: 10 }, (_, index) => extension(900 * (index + 1), 1_000))
    const judged = (waits: readonly RecordedWait[]): readonly string[] =>
      rules({ endMs: 9_000, changes: [grant('b', 0, 1_000), ...extensions], waits: [...waits, waiter(500)] })
    expect(judged([acquisitionId])).toEqual([])
    expect(judged([{ ...acquisitionId, leftAtMs: 1_000 }])).toEqual(['nobody'])
  })
})

describe('a call', () => {
  const busy = waiter(0, { waitMs: 5_000, end: 'busy' })
  const changes = [grant('b', 0, 60_000)]
  const requests = [acquire('a', 0)]

  it('ends at its time: not later, and not sooner', () => {
    const endedAt = (endedAtMs: number): readonly string[] =>
      rules({ endMs: 6_000, changes, requests, waits: [{ ...busy, endedAtMs }] })
    expect(endedAt(4_999)).toEqual([])
    expect(endedAt(5_006)).toEqual(['deadline'])
    expect(endedAt(4_990)).toEqual(['deadline'])
    expect(rules({ endMs: 5_100, changes, requests, waits: [waiter(0, { waitMs: 5_000 })] })).toEqual(['deadline'])
  })

  it('ends when it is aborted', () => {
    const aborted = waiter(0, { abortedAtMs: 100 })
    expect(rules({ endMs: 101, changes, requests, waits: [aborted] })).toEqual(['abort'])
    const ended = { ...aborted, end: 'aborted', endedAtMs: 100 } as const
    expect(rules({ endMs: 900, changes, requests, waits: [ended] })).toEqual([])
    // Too late: the call had ended before.
    expect(
      rules({ endMs: 900, changes, requests, waits: [{ ...ended, end: 'busy', endedAtMs: 90, waitMs: 90 }] }),
    ).toEqual([])
  })

  it('is not told "busy" of a lock that is free, nor "unavailable" of a store that answers', () => {
    const told = (end: 'busy' | 'unavailable', more: Partial<Crafted> = {}): readonly string[] =>
      rules({ endMs: 10, changes, requests, waits: [waiter(1, { waitMs: 0, end, endedAtMs: 1 })], ...more })
    expect(told('busy')).toEqual([])
    expect(told('busy', { changes: [] })).toEqual(['outcome'])
    expect(told('unavailable')).toEqual(['outcome'])
    expect(told('unavailable', { requests: [acquire('a', 1, 9, false)] })).toEqual([])
  })

  it('is granted what the store granted, once, and while it lasts', () => {
    const granted = (fence: number, atMs = 0): RecordedWait =>
      waiter(0, { end: 'granted', fence, endedAtMs: atMs, leftAtMs: atMs })
    const of = (waits: readonly RecordedWait[], process = 'a'): readonly string[] =>
      rules({ endMs: 6_000, changes: [grant(process, 0), freed('released', 1_000)], requests, waits })
    expect(of([granted(1), granted(17)])).toEqual([])
    expect(of([granted(18)])).toEqual(['outcome'])
    expect(of([granted(1)], 'b')).toEqual(['outcome'])
    expect(of([granted(1), granted(1)])).toEqual(['outcome', 'outcome'])
    expect(of([granted(1), granted(2, 1_050)])).toEqual(['outcome'])
  })
})

it('the patience of a waiter is its recheck, or the longest pause of its strategy', () => {
  expect(patienceMs({ recheckMs: 1_000 })).toBe(1_000)
  expect(patienceMs({ strategy: poll({ every: '10s' }) })).toBe(15_000)
  expect(patienceMs({ strategy: backoff({ from: 10, to: '3s' }) })).toBe(3_000)
})
