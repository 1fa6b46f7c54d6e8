import { callUntil, follow, ManualClock } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { storeLike } from '../../../../test/support/store-like.ts'
import { type CallDeadline, type LeaseStore, offerRecords } from '../adapter/index.ts'
import { InvalidOptionError, LeaseholdError, LeaseLostError, StoreUnavailableError } from '../errors.ts'
import { createLocker, type Locker, type LockerEvent } from '../index.ts'
import { memoryNotifier } from '../memory/index.ts'
import { MemoryStore } from '../memory/memory-store.ts'
import { openTables, type Tables } from '../memory/tables.ts'
import { fifo } from '../queue/index.ts'
import {
  type ClaimOptions,
  checkClaims,
  claimRecord,
  mostResultBytes,
  type RecordClaim,
  type RecordStore,
  type Run,
  recordsOf,
} from './index.ts'

type Call = Exclude<keyof RecordStore, 'read'>
/** What becomes of a request: its answer or the request itself is lost, or the server has no memory left for it. */
type Fate = 'answered' | 'reply lost' | 'request lost' | 'full' | 'delayed' | 'delayed, reply lost'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

let clock: ManualClock
let tables: Tables
let store: MemoryStore
let records: RecordStore
let disturbed: LeaseStore
let locks: Locker
let elsewhere: Locker
let events: LockerEvent[]
/** What becomes of the next requests, one each; then all are answered. */
let fates: Record<Call, Fate[]>
/** Why a full server refuses a request. */
let refusal: Error
/** The requests for records so far, in order. */
let sent: string[]
/** Lets the delayed requests arrive. */
let arrive: (() => void)[]

beforeEach(() => {
  clock = new ManualClock()
  tables = openTables(clock)
  store = new MemoryStore(clock, 600_000, tables)
  records = recordsOf(store) as RecordStore
  fates = { claim: [], complete: [], abandon: [] }
  refusal = new Error('OOM')
  sent = []
  arrive = []
  events = []
  // Only the store under test is disturbed; `elsewhere` has one of its own over the same tables.
  disturbed = storeLike(store)
  offerRecords(disturbed, {
    claim: (request, call) => meet('claim', call, (given) => records.claim(request, given)),
    complete: (request, call) =>
      meet('complete', call, (given) => records.complete(request, given), request.result !== null),
    abandon: (request, call) => meet('abandon', call, (given) => records.abandon(request, given)),
    read: (key, call) => records.read(key, call),
  })
  const notifier = memoryNotifier(store)
  locks = createLocker({ store: disturbed, notifier, clock, name: 'here', onEvent: (event) => events.push(event) })
  elsewhere = createLocker({ store, clock, name: 'elsewhere' })
})

async function meet<O>(
  name: Call,
  call: CallDeadline,
  carryOut: (call: CallDeadline) => Promise<O>,
  needsMemory = true,
) {
  sent.push(name)
  const fate = fates[name].shift() ?? 'answered'
  if (fate === 'answered' || (fate === 'full' && !needsMemory)) return carryOut(call)
  if (fate === 'full') return { type: 'unknown', executed: 'no', cause: refusal } as const
  if (fate === 'reply lost') await carryOut(call)
  if (fate.startsWith('delayed')) {
    await new Promise<void>((resolve) => arrive.push(resolve))
    // Its sender has given it up, but the network has not.
    const late = await carryOut(unending())
    if (fate === 'delayed') return late
  }
  await new Promise<void>((resolve) => call.onOver(resolve))
  return { type: 'unknown', executed: 'unknown' } as const
}

const claim = (key: string, options: Partial<ClaimOptions> = {}, by = locks): Promise<RecordClaim> =>
  claimRecord(by, key, { fingerprint: 'same', ...options })

async function begin(key: string, options: Partial<ClaimOptions> = {}, by = locks): Promise<Run> {
  const found = await claim(key, options, by)
  expect(found.type).toBe('claimed')
  return (found as Extract<RecordClaim, { type: 'claimed' }>).run
}

/** Lets time pass while a call settles. */
async function settled<T>(promise: Promise<T>, withinMs = 20_000): Promise<T> {
  const call = follow(promise, clock)
  for (let passedMs = 0; call.state === 'pending' && passedMs < withinMs; passedMs += 50) await clock.advance(50)
  return promise
}

const told = (): string[] => events.map(({ type }) => type)

describe('a claimed run', () => {
  it('takes two requests, and later claims find its result', async () => {
    const run = await begin('k')
    expect(await run.complete(bytes('paid'))).toEqual({ type: 'completed', result: true })
    expect(sent).toEqual(['claim', 'complete'])
    expect(await claim('k')).toMatchObject({ type: 'done', record: { holder: 'here', result: bytes('paid') } })
    expect(told()).toEqual(['acquired', 'released'])
    expect(await locks.isLocked('k')).toBe(false)
  })

  it('is renewed for as long as it takes, and its record is kept beyond `inDoubtFor`', async () => {
    const run = await begin('k', { inDoubtFor: '1m' })
    await clock.advance(10 * 60_000)
    expect(run.remaining()).toBeGreaterThan(5_000)
    run.assertValid()
    expect(await claim('k', { fingerprint: 'other', wait: 0 }, elsewhere)).toEqual({ type: 'mismatch' })
    expect(await run.complete(null)).toEqual({ type: 'completed', result: false })
  })

  it('excludes other runs and holders, who are told who it is', async () => {
    await begin('k')
    expect(await claim('k', { wait: 0 }, elsewhere)).toMatchObject({ type: 'busy', holder: 'here' })
    expect(await elsewhere.tryAcquire('k')).toBeNull()
  })

  it('keeps a record for `keep`', async () => {
    await (await begin('k')).complete(bytes('x'), { keep: '1m' })
    await clock.advance(59_000)
    expect(await claim('k')).toMatchObject({ type: 'done' })
    await clock.advance(1_000)
    await begin('k')
  })

  it('says that its result was too large to keep, and so do later claims', async () => {
    const run = await begin('k')
    expect(await run.complete(new Uint8Array(mostResultBytes + 1))).toEqual({ type: 'completed', result: false })
    expect(await claim('k')).toMatchObject({ type: 'done', record: { state: 'too-large' } })
  })

  it('that is abandoned leaves nothing, and one that is left leaves its key in doubt', async () => {
    await (await begin('abandoned')).abandon()
    await begin('abandoned', {}, elsewhere)
    expect(await (await begin('left')).leave()).toBe('released')
    expect(await claim('left', {}, elsewhere)).toMatchObject({ type: 'in-doubt', record: { holder: 'here' } })
    {
      await using run = await begin('disposed')
      run.assertValid()
    }
    expect(await claim('disposed')).toMatchObject({ type: 'in-doubt' })
  })

  it('ends once: the same ending answers again as it did, and another is refused', async () => {
    const run = await begin('k')
    const first = run.complete(bytes('x'))
    expect(run.complete(null)).toBe(first)
    await first
    await expect(run.abandon()).rejects.toMatchObject({ code: 'LEASE_RELEASED', key: 'k' })
    expect(() => run.assertValid()).toThrow(LeaseholdError)
    expect([run.remaining(), await run.leave()]).toEqual([0, 'released'])
    expect(sent).toEqual(['claim', 'complete'])
  })

  it('goes on if it is to be completed with something bad', async () => {
    const run = await begin('k')
    await expect(run.complete('text' as never)).rejects.toBeInstanceOf(InvalidOptionError)
    await expect(run.complete(null, { keep: 'soon' as never })).rejects.toMatchObject({ option: 'keep' })
    run.assertValid()
    await clock.advance(60_000)
    expect(await run.complete(null)).toMatchObject({ type: 'completed' })
  })

  it('is lost when its locker is closed, and its key is in doubt', async () => {
    const run = await begin('k')
    const { signal } = run
    await settled(locks.close({ grace: 0 }))
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'closed' })
    expect(() => run.assertValid()).toThrow(signal.reason)
    expect(await claim('k', {}, elsewhere)).toMatchObject({ type: 'in-doubt' })
    expect(await run.leave()).toBe('released')
  })

  it('does not begin without a lease when its locker is closed in that moment, and its key is free', async () => {
    const ends = new Set<string>()
    for (let turns = 0; turns < 12; turns++) {
      const closing = storeLike(store)
      const locker = createLocker({ store: closing, clock })
      const soon = async (): Promise<void> => {
        for (let turn = 0; turn < turns; turn++) await undefined
        await locker.close({ grace: '1h' })
      }
      const claimed = async (...request: Parameters<RecordStore['claim']>) => {
        const outcome = await records.claim(...request)
        void soon()
        return outcome
      }
      offerRecords(closing, { ...records, claim: claimed })
      const key = `k${turns}`
      const found = await claim(key, {}, locker).catch(({ code }: LeaseholdError) => code)
      if (typeof found === 'object' && found.type === 'claimed') found.run.assertValid()
      else await clock.advance(5_000)
      ends.add(typeof found === 'object' ? found.type : found)
      expect(await claim(key, { wait: 0 }, elsewhere)).toMatchObject({
        type: typeof found === 'object' ? 'busy' : 'claimed',
      })
    }
    expect(ends).toEqual(new Set(['CLOSED', 'claimed']))
  })

  it('may still end as its work says when its locker is closed, which is told once', async () => {
    const [done, abandoned, overtaken] = [await begin('done'), await begin('abandoned'), await begin('overtaken')]
    await settled(locks.close({ grace: 0 }))
    expect(await settled(done.complete(bytes('paid')))).toEqual({ type: 'completed', result: true })
    expect(await settled(abandoned.abandon())).toEqual({ type: 'abandoned' })
    const next = await begin('overtaken', { rerun: true }, elsewhere)
    expect(await settled(overtaken.complete(null))).toMatchObject({ type: 'superseded', record: { fence: next.fence } })
    expect(await claim('done', {}, elsewhere)).toMatchObject({ record: { result: bytes('paid') } })
    await begin('abandoned', {}, elsewhere)
    expect(told()).toEqual(['acquired', 'lost', 'released'].flatMap((type) => [type, type, type]))
  })

  it('that is left, or dies, leaves its key in doubt for `inDoubtFor` from the end of its lease, or a third more', async () => {
    // The last repeat may be as old as it gets.
    for (const [ttl, inDoubtFor, lastsMs] of [
      [30_000, 60_000, 29_900],
      [30_000, 3_600_000, 599_000],
      [7_200_000, 3_600_000, 599_000],
    ] as const) {
      const run = await begin('k', { ttl, inDoubtFor })
      await clock.advance(lastsMs)
      await run.leave()
      await clock.advance(inDoubtFor - 1)
      expect(await claim('k', {}, elsewhere)).toMatchObject({ type: 'in-doubt' })
      await clock.advance(ttl + Math.max(inDoubtFor / 3, ttl) + 1)
      await (await begin('k', {}, elsewhere)).abandon()
    }
    const stopped = createLocker({ store, clock: new ManualClock() })
    await begin('dies', { ttl: '2h', inDoubtFor: '5s' }, stopped)
    await clock.advance(7_200_000 + 4_999)
    expect(await claim('dies')).toMatchObject({ type: 'in-doubt' })
  })

  it('repeats its claim so often that one repeat may get no answer', async () => {
    const run = await begin('k', { inDoubtFor: '1h' })
    fates.claim = Array.from({ length: 4 }, () => 'request lost' as const)
    await clock.advance(2 * 600_000 - 1)
    expect(sent.filter((name) => name === 'claim').length).toBeGreaterThan(2)
    await run.leave()
    await clock.advance(3_600_000 - 1)
    expect(await claim('k', {}, elsewhere)).toMatchObject({ type: 'in-doubt' })
  })
})

describe('a run that loses its lease', () => {
  it('is told by its signal, and may complete if nobody has claimed the key since', async () => {
    const run = await begin('k')
    const { signal } = run
    await elsewhere.revoke('k')
    await clock.advance(4_000)
    expect(signal.reason).toBeInstanceOf(LeaseLostError)
    expect(() => run.assertValid()).toThrow(LeaseLostError)
    expect(await run.complete(bytes('late'))).toEqual({ type: 'completed', result: true })
    expect(await claim('k')).toMatchObject({ record: { result: bytes('late') } })
  })

  it.each(['before', 'after'])('and was overtaken is refused, %s its successor has completed', async (when) => {
    const late = await begin('k')
    await elsewhere.revoke('k')
    const next = await begin('k', { rerun: true }, elsewhere)
    expect([next.overtook, next.fence]).toEqual([late.fence, expect.any(Number)])
    if (when === 'after') await next.complete(bytes('next'))
    const state = when === 'after' ? { state: 'done', result: bytes('next') } : { state: 'running' }
    expect(await late.complete(bytes('late'))).toMatchObject({
      type: 'superseded',
      record: { ...state, fence: next.fence },
    })
    if (when === 'before') expect(await next.complete(bytes('next'))).toMatchObject({ type: 'completed' })
    expect(await claim('k')).toMatchObject({ record: { result: bytes('next') } })
  })

  it('because the store has lost everything, does not claim the key again', async () => {
    // The lease is not renewed, which would show it first.
    disturbed.renew = async (requests) => requests.map(() => ({ type: 'unknown', executed: 'no' }))
    const run = await begin('k', { inDoubtFor: '15s', ttl: '15s' })
    const { signal } = run
    for (const table of Object.values(tables)) table.delete('k')
    await clock.advance(5_100)
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    expect(sent.filter((name) => name === 'abandon').length).toBe(1)
    expect(await records.read('k', unending())).toEqual({ type: 'state', record: null, lock: null })
    expect(await run.complete(null)).toEqual({ type: 'gone' })
  })
})

describe('a claim that waits', () => {
  it('answers with the result as soon as it is there', async () => {
    const run = await begin('k', {}, elsewhere)
    const waiting = follow(claim('k', { wait: '1m' }), clock)
    await clock.advance(100)
    await run.complete(bytes('paid'))
    await clock.advance(0)
    expect(waiting).toMatchObject({ state: 'fulfilled', value: { type: 'done', record: { result: bytes('paid') } } })
    expect(told()).toEqual(['contended'])
  })

  it('runs once the run before it was abandoned, and is told when that left its key in doubt', async () => {
    const [abandoned, left] = [await begin('abandoned', {}, elsewhere), await begin('left', {}, elsewhere)]
    const waiting = [follow(claim('abandoned'), clock), follow(claim('left'), clock)]
    await clock.advance(100)
    await Promise.all([abandoned.abandon(), left.leave()])
    await clock.advance(0)
    expect(waiting).toMatchObject([{ value: { type: 'claimed' } }, { value: { type: 'in-doubt' } }])
  })

  it('keeps what an earlier attempt of its own was granted while it waited', async () => {
    const polling = createLocker({ store: disturbed, clock, name: 'polling' })
    const before = await begin('k', {}, elsewhere)
    fates.claim = ['delayed']
    const waiting = follow(claim('k', { wait: '1m' }, polling), clock)
    await clock.advance(1_500)
    expect(sent.length).toBeGreaterThan(1)
    await before.abandon()
    for (const request of arrive) request()
    await clock.advance(30_000)
    expect(waiting).toMatchObject({ state: 'fulfilled', value: { type: 'claimed' } })
    const { run } = waiting.value as Extract<RecordClaim, { type: 'claimed' }>
    run.assertValid()
    expect(await records.read('k', unending())).toMatchObject({
      record: { state: 'running', fence: run.fence },
      lock: {},
    })
    expect(sent).not.toContain('abandon')
  })

  it('is told that somebody is at it when its time is over', async () => {
    await begin('k', {}, elsewhere)
    const waiting = follow(claim('k', { wait: '3s' }), clock)
    await clock.advance(3_000)
    expect(waiting).toMatchObject({ state: 'fulfilled', value: { type: 'busy', holder: 'elsewhere' } })
  })

  it('ends with the reason of its signal, and leaves nothing behind', async () => {
    await begin('k', { renew: false, ttl: '1h' }, elsewhere)
    const stop = new AbortController()
    const waiting = follow(claim('k', { signal: stop.signal, wait: '1h' }), clock)
    await clock.advance(1_000)
    stop.abort('enough')
    await clock.advance(0)
    expect(waiting).toMatchObject({ state: 'rejected', reason: 'enough' })
    const before = sent.length
    await clock.advance(60_000)
    expect(sent.slice(before).filter((name) => name !== 'abandon')).toEqual([])
  })
})

describe('without an answer', () => {
  it('a claim that is carried out after it was given up is undone, and nobody is in doubt', async () => {
    fates.claim = Array.from({ length: 4 }, () => 'delayed' as const)
    await expect(settled(claim('k'))).rejects.toBeInstanceOf(StoreUnavailableError)
    await clock.advance(60_000)
    for (const request of arrive) request()
    await clock.advance(10_000)
    expect(await records.read('k', unending())).toEqual({ type: 'state', record: null, lock: null })
  })

  it.each([1, 10])('a claim is undone after an outage of %s min, however many requests that takes', async (minutes) => {
    fates.claim = Array.from({ length: 4 }, () => 'reply lost' as const)
    fates.abandon = Array.from({ length: 1_000 }, () => 'request lost' as const)
    await expect(settled(claim('k'))).rejects.toBeInstanceOf(StoreUnavailableError)
    await clock.advance(minutes * 60_000)
    const tries = sent.filter((name) => name === 'abandon').length
    expect(tries).toBeLessThan(12 + 4 * minutes)
    expect(await claim('k', { wait: 0 }, elsewhere)).toMatchObject({ type: 'in-doubt' })
    fates.abandon = []
    await clock.advance(35_000)
    expect(await records.read('k', unending())).toEqual({ type: 'state', record: null, lock: null })
    await clock.advance(60_000)
    expect(sent.slice(-2)).toEqual(['abandon', 'abandon'])
    const { length } = sent
    await clock.advance(600_000)
    expect(sent.length).toBe(length)
  })

  it.each(['locker is closed', 'record is forgotten'])(
    'a claim that nobody can undo is given up when its %s',
    async (when) => {
      fates.claim = Array.from({ length: 4 }, () => 'reply lost' as const)
      fates.abandon = Array.from({ length: 1_000 }, () => 'request lost' as const)
      await expect(settled(claim('k', { inDoubtFor: '5m' }))).rejects.toBeInstanceOf(StoreUnavailableError)
      await clock.advance(60_000)
      if (when === 'locker is closed') await settled(locks.close())
      else await clock.advance(400_000)
      // The try in flight, and no more.
      await clock.advance(5_000)
      const { length } = sent
      await clock.advance(600_000)
      expect(sent.length).toBe(length)
    },
  )

  it('a claim that comes again after it was undone, and after another’s came and went, is undone again', async () => {
    fates.claim = ['delayed, reply lost', 'reply lost', 'reply lost', 'reply lost']
    await expect(settled(claim('k'))).rejects.toBeInstanceOf(StoreUnavailableError)
    await clock.advance(0)
    expect(await records.read('k', unending())).toMatchObject({ record: null })
    await (await begin('k', {}, elsewhere)).abandon()
    for (const request of arrive) request()
    await clock.advance(0)
    expect(await records.read('k', unending())).toMatchObject({ record: { state: 'running' } })
    await clock.advance(5_000)
    expect(await records.read('k', unending())).toEqual({ type: 'state', record: null, lock: null })
  })

  it('a claim that the server cannot carry out for now is repeated until its wait is over', async () => {
    refusal = new Error('TRYAGAIN the slot is being moved')
    fates.claim = Array.from({ length: 1_000 }, () => 'full' as const)
    const outlasted = follow(claim('k', { wait: '20s' }), clock)
    await clock.advance(15_000)
    expect(outlasted.state).toBe('pending')
    fates.claim = []
    await clock.advance(1_000)
    expect(outlasted).toMatchObject({ state: 'fulfilled', value: { type: 'claimed' } })

    fates.claim = Array.from({ length: 1_000 }, () => 'full' as const)
    const vain = follow(claim('other', { wait: '20s' }), clock)
    await clock.advance(19_000)
    expect(vain.state).toBe('pending')
    await clock.advance(1_000)
    expect(vain).toMatchObject({
      state: 'rejected',
      reason: { code: 'STORE_UNAVAILABLE', executed: 'no', cause: refusal },
    })
    expect(sent).not.toContain('abandon')
  })

  it('a claim is repeated and finds itself', async () => {
    fates.claim = ['reply lost']
    const run = await settled(begin('k'))
    expect(sent).toEqual(['claim', 'claim'])
    expect(await run.complete(null)).toMatchObject({ type: 'completed' })
  })

  it('a claim is given up after a command deadline, and what it took is given back: the key is not in doubt', async () => {
    fates.claim = ['reply lost', 'reply lost', 'reply lost', 'reply lost']
    const claiming = settled(claim('k'))
    await expect(claiming).rejects.toBeInstanceOf(StoreUnavailableError)
    await expect(claiming).rejects.toMatchObject({ key: 'k', executed: 'unknown' })
    await clock.advance(10_000)
    expect(await records.read('k', unending())).toEqual({ type: 'state', record: null, lock: null })
  })

  it('a completion that was carried out is told so', async () => {
    const run = await begin('k')
    fates.complete = ['reply lost']
    expect(await settled(run.complete(bytes('x')))).toEqual({ type: 'completed', result: true })
    expect(told()).toEqual(['acquired', 'released'])
  })

  it('a completion answers `unknown`, the key stays guarded, and the result is stored behind the caller’s back', async () => {
    const run = await begin('k')
    fates.complete = Array.from({ length: 3 }, () => 'request lost' as const)
    expect(await settled(run.complete(bytes('x')))).toMatchObject({ type: 'unknown' })
    expect(await claim('k', { wait: 0 }, elsewhere)).toMatchObject({ type: 'busy' })
    await clock.advance(5_000)
    expect(await claim('k', { wait: 0 }, elsewhere)).toMatchObject({ type: 'done', record: { result: bytes('x') } })
    expect(run.signal.aborted).toBe(false)
  })

  it('and without one in the end, the key is in doubt and the lock free after its ttl', async () => {
    const run = await begin('k')
    fates.complete = Array.from({ length: 100 }, () => 'request lost' as const)
    expect(await settled(run.complete(bytes('x')))).toMatchObject({ type: 'unknown' })
    await clock.advance(15_000)
    expect(await claim('k', { wait: 0 }, elsewhere)).toMatchObject({ type: 'in-doubt' })
    expect(events.at(-1)).toMatchObject({ type: 'released', outcome: 'unknown' })
    expect(told()).not.toContain('lost')
  })

  it('an abandonment is repeated behind the caller’s back', async () => {
    const run = await begin('k')
    fates.abandon = Array.from({ length: 3 }, () => 'request lost' as const)
    expect(await settled(run.abandon())).toMatchObject({ type: 'unknown' })
    await clock.advance(5_000)
    await begin('k', { wait: 0 }, elsewhere)
  })

  it.each(['OOM command not allowed', 'The server refused (HTTP 413); send less'])(
    'where there is no room for the result (%s), the record says that the work is done',
    async (reason) => {
      const run = await begin('k')
      refusal = new Error(reason)
      fates.complete = Array.from({ length: 50 }, () => 'full' as const)
      expect(await settled(run.complete(bytes('x')), 100)).toEqual({ type: 'completed', result: false })
      expect(await claim('k', { wait: 0 })).toMatchObject({ type: 'done', record: { state: 'too-large' } })
      expect(sent).toEqual(['claim', 'complete', 'complete', 'claim'])
    },
  )

  it.each(['READONLY', 'NOREPLICAS'])(
    'where a failover refuses the result (%s), it is kept and stored later',
    async (reason) => {
      const run = await begin('k')
      refusal = new Error(`${reason} for now`)
      fates.complete = Array.from({ length: 20 }, () => 'full' as const)
      expect(await settled(run.complete(bytes('x')), 2_000)).toMatchObject({ type: 'unknown', cause: refusal })
      await clock.advance(20_000)
      expect(await claim('k', { wait: 0 }, elsewhere)).toMatchObject({ type: 'done', record: { result: bytes('x') } })
    },
  )
})

describe('a claim of a key in doubt that comes to nothing leaves it in doubt', () => {
  let first: Run
  beforeEach(async () => {
    first = await begin('k', {}, elsewhere)
    await first.leave()
    sent = []
  })
  afterEach(async () => {
    await clock.advance(20_000)
    expect(sent).toContain('abandon')
    expect(await claim('k', {}, elsewhere)).toMatchObject({ type: 'in-doubt', record: { fence: first.fence } })
    expect((await begin('k', { rerun: true }, elsewhere)).overtook).toBe(first.fence)
  })

  it('for want of an answer', async () => {
    fates.claim = Array.from({ length: 4 }, () => 'reply lost' as const)
    await expect(settled(claim('k', { rerun: true }))).rejects.toBeInstanceOf(StoreUnavailableError)
  })

  it('because its caller left', async () => {
    fates.claim = ['reply lost']
    const stop = new AbortController()
    const claiming = claim('k', { rerun: true, signal: stop.signal })
    await clock.advance(100)
    stop.abort('enough')
    await expect(claiming).rejects.toBe('enough')
  })

  it('because its run knows that nothing happened', async () => {
    const run = await begin('k', { rerun: true })
    expect(await run.abandon()).toEqual({ type: 'abandoned' })
  })
})

describe('the locker tells of claims that came to nothing', () => {
  const failures = (): unknown[] => events.filter(({ type }) => type === 'acquire-failed')

  it('for want of an answer', async () => {
    fates.claim = Array.from({ length: 4 }, () => 'request lost' as const)
    const error = await settled(claim('k')).catch((reason: unknown) => reason)
    expect(failures()).toMatchObject([{ key: 'k', reason: 'unavailable', commands: expect.any(Number), cause: error }])
  })

  it('because the caller gave up, and not of those that found out what is so', async () => {
    await begin('k', {}, elsewhere)
    expect((await claim('k', { wait: 0 })).type).toBe('busy')
    const stop = new AbortController()
    const waiting = claim('k', { signal: stop.signal })
    stop.abort('enough')
    await expect(waiting).rejects.toBe('enough')
    expect(failures()).toMatchObject([{ key: 'k', reason: 'aborted', cause: 'enough' }])
  })
})

it.each(['complete', 'abandon', 'leave'] as const)('`waitUntil` is given a run until its %s', async (ending) => {
  const tasks: Promise<unknown>[] = []
  const edge = createLocker({ store, clock, waitUntil: (task) => tasks.push(task) })
  const run = await begin('k', {}, edge)
  const [task] = tasks.map((each) => follow(each, clock))
  await clock.advance(60_000)
  expect(task?.state).toBe('pending')
  await (ending === 'complete' ? run.complete(null) : run[ending]())
  await clock.advance(0)
  expect(task?.state).toBe('fulfilled')
})

it('bad options are refused by name, before anything is sent', async () => {
  for (const [option, options] of [
    ['fingerprint', { fingerprint: 'two words' }],
    ['inDoubtFor', { inDoubtFor: 'soon' as never }],
    ['rerun', { rerun: 'yes' as never }],
    ['ttl', { ttl: -1 }],
    ['queue', { queue: fifo() } as never],
  ] as const) {
    await expect(claim('k', options)).rejects.toMatchObject({ code: 'INVALID_OPTION', option })
    if (option !== 'fingerprint') {
      expect(() => checkClaims(locks, options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', option }))
    }
  }
  checkClaims(locks, { ttl: '1s', rerun: true })
  await expect(claim('')).rejects.toMatchObject({ option: 'key' })
  await expect(claim('k', {}, {} as Locker)).rejects.toMatchObject({ option: 'locks' })
  const without = createLocker({ store: storeLike(store), clock })
  await expect(claim('k', {}, without)).rejects.toMatchObject({ option: 'locks' })
  expect(sent).toEqual([])
})

const unending = (): CallDeadline => callUntil(new AbortController().signal, 1_000)
