import { getEventListeners } from 'node:events'
import { follow, ManualClock, type Settlement } from '@leasehold/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { storeLike } from '../../../../test/support/store-like.ts'
import { type CallDeadline, offerRecords } from '../adapter/index.ts'
import { AcquireTimeoutError, createLocker, type Locker, type LockerEvent } from '../index.ts'
import { memoryNotifier } from '../memory/index.ts'
import { MemoryStore } from '../memory/memory-store.ts'
import { openTables, type Tables } from '../memory/tables.ts'
import { fifo } from '../queue/index.ts'
import { claimRecord, type RecordStore, recordsOf } from '../records/index.ts'
import { mostJsonBytes, type OnceOptions, type OnceRun, type OnceWork, once } from './index.ts'

/**
 * What becomes of a request: it is answered; its answer or the request itself is lost; the server has no memory for it.
 */
type Fate = 'answered' | 'reply lost' | 'request lost' | 'full'
type Call = 'claim' | 'complete' | 'abandon'

let clock: ManualClock
let store: MemoryStore
let tables: Tables
let here: Locker
let elsewhere: Locker
let events: LockerEvent[]
let fates: Record<Call, Fate[]>
/** The requests of `here`, in order. */
let sent: string[]

beforeEach(() => {
  clock = new ManualClock()
  // Its timer only frees memory. Without it, a test sees what `once` leaves behind.
  const still = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    schedule: () => () => undefined,
  }
  tables = openTables(still)
  store = new MemoryStore(still, 600_000, tables)
  fates = { claim: [], complete: [], abandon: [] }
  sent = []
  events = []
  const records = recordsOf(store) as RecordStore
  const disturbed = storeLike(store)
  offerRecords(disturbed, {
    claim: (request, call) => meet('claim', call, () => records.claim(request, call)),
    complete: (request, call) => meet('complete', call, () => records.complete(request, call), request.result !== null),
    abandon: (request, call) => meet('abandon', call, () => records.abandon(request, call)),
    read: (key, call) => records.read(key, call),
  })
  const onEvent = (event: LockerEvent): unknown => events.push(event)
  here = createLocker({ store: disturbed, notifier: memoryNotifier(store), clock, name: 'here', onEvent })
  elsewhere = createLocker({ store, notifier: memoryNotifier(store), clock, name: 'elsewhere' })
})

afterEach(() => void vi.unstubAllGlobals())

async function meet<O>(name: Call, call: CallDeadline, carryOut: () => Promise<O>, needsMemory = true) {
  sent.push(name)
  const fate = fates[name].shift() ?? 'answered'
  if (fate === 'answered' || (fate === 'full' && !needsMemory)) return carryOut()
  if (fate === 'full') return { type: 'unknown', executed: 'no', cause: new Error('OOM') } as const
  if (fate === 'reply lost') await carryOut()
  await new Promise<void>((resolve) => call.onOver(resolve))
  return { type: 'unknown', executed: 'unknown' } as const
}

/** Work whose runs a test ends one by one. */
class Build {
  readonly runs: OnceRun[] = []
  readonly #ends: { resolve(value: unknown): void; reject(error: unknown): void }[] = []

  readonly work: OnceWork<unknown> = (run) => {
    this.runs.push(run)
    return new Promise((resolve, reject) => this.#ends.push({ resolve, reject }))
  }

  return(value: unknown, run = 0): void {
    this.#ends[run]?.resolve(value)
  }

  throw(error: unknown, run = 0): void {
    this.#ends[run]?.reject(error)
  }
}

const ask = (build: Build, options: OnceOptions = {}, by = here): Settlement<unknown> =>
  follow(once(by, 'report', build.work, options), clock)

/** Lets what is under way happen, without time passing. */
const now = (): Promise<void> => clock.advance(0)

const fulfilled = (value: unknown) => ({ state: 'fulfilled', value })
const rejected = (reason: unknown) => ({ state: 'rejected', reason })
const code = (of: string) => expect.objectContaining({ code: of })

describe('one run', () => {
  it('serves all who ask at once, here and elsewhere, with one claim for each process', async () => {
    const build = new Build()
    const asked = Array.from({ length: 20 }, (_, at) => ask(build, { wait: '1h' }, at % 2 ? elsewhere : here))
    await clock.advance(5_000)
    expect([build.runs.length, sent]).toEqual([1, ['claim']])
    build.return({ rows: [1] })
    await now()
    for (const each of asked) expect(each).toMatchObject(fulfilled({ rows: [1] }))
    expect(build.runs.length).toBe(1)
  })

  it('gives each caller a copy of its own', async () => {
    const build = new Build()
    const asked = [ask(build), ask(build), ask(build, {}, elsewhere)]
    await now()
    const own = { rows: [1] }
    build.return(own)
    await now()
    own.rows.push(2)
    for (const each of asked) (each.value as typeof own).rows.push(3)
    expect(asked.map(({ value }) => value)).toEqual(asked.map(() => ({ rows: [1, 3] })))
    expect(await once(here, 'report', build.work)).toEqual({ rows: [1] })
  })

  it('serves whoever asks until `keep` is over, and not longer', async () => {
    const build = new Build()
    ask(build, { keep: '10m' })
    await now()
    build.return('first')
    await clock.advance(599_000)
    expect(await once(elsewhere, 'report', build.work)).toBe('first')
    await clock.advance(2_000)
    ask(build)
    await now()
    expect(build.runs.length).toBe(2)
    build.return('second', 1)
    await clock.advance(30_000)
    expect(await once(elsewhere, 'report', build.work)).toBe('second')
    await clock.advance(31_000)
    ask(build)
    await now()
    expect(build.runs.length).toBe(3)
  })

  it('has the key’s lock and a fence, and is renewed for as long as it takes', async () => {
    const build = new Build()
    const asked = ask(build, { ttl: '5s', wait: '1s' })
    await clock.advance(60_000)
    const [run] = build.runs as [OnceRun]
    expect(run).toMatchObject({ key: 'report', fence: expect.any(Number), overtook: undefined })
    expect([run.signal.aborted, run.remaining() > 3_000]).toEqual([false, true])
    run.assertValid()
    expect(await elsewhere.tryAcquire('report')).toBeNull()
    build.return(undefined)
    await now()
    // It does not wait for its own run, so its `wait` does not end it.
    expect(asked).toMatchObject(fulfilled(undefined))
    expect(await elsewhere.isLocked('report')).toBe(false)
  })

  it('takes two commands, and a result that is there takes one', async () => {
    const build = new Build()
    ask(build)
    await now()
    build.return(1)
    await now()
    ask(build)
    await now()
    expect(sent).toEqual(['claim', 'complete', 'claim'])
  })

  it('leaves nothing behind in its process', async () => {
    const build = new Build()
    const { signal } = new AbortController()
    const asked = [ask(build), ask(build, { wait: '1h' }), ask(build, { signal })]
    await now()
    expect([getEventListeners(signal, 'abort').length, clock.pending]).not.toContain(0)
    build.return(1)
    await now()
    expect(asked.map(({ state }) => state)).toEqual(asked.map(() => 'fulfilled'))
    expect([getEventListeners(signal, 'abort').length, clock.pending]).toEqual([0, 0])
  })

  it('may be asked for again by whoever has just got its result', async () => {
    const build = new Build()
    const again = follow(
      once(here, 'report', build.work, { keep: '1h' }).then(() => once(here, 'report', build.work)),
      clock,
    )
    await now()
    build.return(1)
    await now()
    expect(again).toMatchObject(fulfilled(1))
  })
})

describe('a result', () => {
  it.each([
    ['null', null],
    ['false', false],
    ['an empty text', ''],
    ['a list', [1, 'ä', [null], { a: { b: [] } }]],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
  ])('may be %s', async (_, value) => {
    for (const by of [here, elsewhere]) expect(await once(by, 'k', () => value)).toEqual(value)
  })

  it('may be undefined, and so may its fields', async () => {
    for (const by of [here, elsewhere]) expect(await once(by, 'k', () => undefined)).toBeUndefined()
    expect(await once(here, 'fields', () => ({ a: undefined }))).toEqual({})
  })

  const shared = { list: [{ a: 1 }] }
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  it.each([
    ['a date', { at: new Date(0) }, 'Error: Option "result" must be plain data, and at is a Date'],
    ['what is deep inside', { a: { b: [[1], { 'c d': new Error('no') }] } }, 'and a.b[1]["c d"] is an Error'],
    ['in two places', [shared, { again: { ...shared, at: new Map() } }], 'and [1].again.at is a Map'],
    ['below what is in two places', { a: shared, b: { shared, c: NaN } }, 'and b.c is NaN'],
    ['what makes its own JSON', { toJSON: () => 1 }, 'and toJSON is a function'],
    ['a map', new Map(), 'and it is a Map'],
    ['of a class without a name', new (class {})(), 'and it is an object of a class'],
    ['no number', [NaN], 'and [0] is NaN'],
    ['a bigint', 1n, 'and it is a bigint'],
    ['a symbol', { '': Symbol('s') }, 'and [""] is a symbol'],
    ['a function', () => 'source', 'and it is a function'],
    ['a hole', [undefined], 'and [0] is undefined'],
    ['a cycle', cycle, 'closes the circle'],
    ['more than 64 KiB', 'x'.repeat(mostJsonBytes - 1), `${mostJsonBytes + 1}`],
  ])('that is %s is an error of its own, before anybody gets it', async (_, value, says) => {
    const build = new Build()
    const asked = [ask(build), ask(build)]
    const other = ask(build, {}, elsewhere)
    await now()
    build.return(value)
    await now()
    for (const each of asked) {
      expect(each).toMatchObject(rejected({ code: 'INVALID_OPTION', option: 'result' }))
      expect(String(each.reason).slice(-says.length)).toBe(says)
    }
    // Elsewhere, it is like any error: the next call runs.
    expect([other.state, build.runs.length]).toEqual(['pending', 2])
  })

  it('of 64 KiB is kept', async () => {
    const value = 'x'.repeat(mostJsonBytes - 2)
    for (const by of [here, elsewhere]) expect(await once(by, 'k', () => value)).toBe(value)
  })
})

describe('an error', () => {
  it('is shared by the callers of its process, and elsewhere the next waiter runs', async () => {
    const [build, others] = [new Build(), new Build()]
    const asked = [ask(build), ask(build)]
    await now()
    const waiting = [ask(others, {}, elsewhere), ask(others, {}, elsewhere)]
    await clock.advance(100)
    const error = new Error('no paper')
    build.throw(error)
    await now()
    for (const each of asked) expect(each.reason).toBe(error)
    expect(others.runs.length).toBe(1)
    others.return('printed')
    await now()
    for (const each of waiting) expect(each).toMatchObject(fulfilled('printed'))
  })

  it('is not kept', async () => {
    await expect(once(here, 'k', () => Promise.reject(new Error('once')))).rejects.toThrow('once')
    expect(await once(here, 'k', () => 'again')).toBe('again')
  })
})

describe('a runner', () => {
  it('that died is replaced when its lease is over, and its successor is told', async () => {
    const dead = new Build()
    // Nothing renews it, and nobody ends it.
    ask(dead, { renew: false, ttl: '3s' }, elsewhere)
    await now()
    const build = new Build()
    const asked = ask(build)
    await clock.advance(3_100)
    expect(build.runs).toMatchObject([{ overtook: dead.runs[0]?.fence }])
    build.return('alive')
    await now()
    expect(asked).toMatchObject(fulfilled('alive'))
  })

  /** A run of `here` that has lost its lease to one of `elsewhere`. */
  async function overtaken() {
    const [late, next] = [new Build(), new Build()]
    const asked = [ask(late, { wait: '1m' }), ask(late, { wait: '1m' })]
    await now()
    await elsewhere.revoke('report')
    const other = ask(next, {}, elsewhere)
    await now()
    return { late, next, asked, other }
  }

  it.each(['before', 'after'])(
    'that was overtaken is refused, and its callers get the winner’s result, %s',
    async (when) => {
      const { late, next, asked, other } = await overtaken()
      if (when === 'before') next.return('winner')
      await now()
      late.return('late')
      await clock.advance(100)
      if (when === 'after') next.return('winner')
      await now()
      for (const each of [...asked, other]) expect(each).toMatchObject(fulfilled('winner'))
      expect([late.runs.length, next.runs.length]).toEqual([1, 1])
      expect(events).toContainEqual(expect.objectContaining({ type: 'released', outcome: 'superseded' }))
    },
  )

  it('that lost its lease is told to stop, and its callers get the result of whoever runs then', async () => {
    const { late, next, asked } = await overtaken()
    // It notices at its next renewal.
    await clock.advance(4_000)
    const { signal } = late.runs[0] as OnceRun
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' })
    late.throw(signal.reason)
    await now()
    next.return('winner')
    await now()
    for (const each of asked) expect(each).toMatchObject(fulfilled('winner'))
    expect(late.runs.length).toBe(1)
  })

  it('that lost its lease to nobody runs again', async () => {
    const build = new Build()
    const asked = ask(build)
    await now()
    await elsewhere.revoke('report')
    await clock.advance(4_000)
    build.throw(build.runs[0]?.signal.reason)
    await now()
    expect(build.runs.length).toBe(2)
    build.return('second', 1)
    await now()
    expect(asked).toMatchObject(fulfilled('second'))
  })
})

describe('a call', () => {
  it.each([
    ['here', () => here, 'at this locker itself'],
    ['elsewhere', () => elsewhere, 'at "elsewhere"'],
  ])('waits for a run %s as long as it says, and then tells of it', async (name, runner, where) => {
    const build = new Build()
    const running = ask(build, { wait: '1h' }, runner())
    await now()
    const [short, long] = [ask(build, { wait: '2s' }), ask(build, { wait: '1m' })]
    await clock.advance(2_000)
    const figures = { waitedMs: 2_000, holder: name, heldHere: runner() === here }
    expect(short).toMatchObject(rejected({ name: 'AcquireTimeoutError', key: 'report', ...figures }))
    expect(short.reason).toBeInstanceOf(AcquireTimeoutError)
    expect((short.reason as Error).message).toBe(
      `The run of "report" is under way ${where}, and the call has waited 2000 ms; allow a longer wait`,
    )
    build.return(1)
    await now()
    for (const each of [running, long]) expect(each).toMatchObject(fulfilled(1))
  })

  it('waits for 2 minutes, unless it or its locker says otherwise', async () => {
    const build = new Build()
    ask(build, {}, elsewhere)
    await now()
    const impatient = createLocker({ store, clock, wait: '1m' })
    const asked = [ask(build), ask(build, { wait: undefined }, impatient)]
    await clock.advance(59_999)
    expect(asked).toMatchObject([{ state: 'pending' }, { state: 'pending' }])
    await clock.advance(60_000)
    expect(asked).toMatchObject([{ state: 'pending' }, rejected({ waitedMs: 60_000 })])
    await clock.advance(1)
    expect(asked[0]).toMatchObject(rejected({ waitedMs: 120_000 }))
  })

  it('that the store does not answer until its wait is over says that, and of no run', async () => {
    fates.claim = ['request lost']
    const asked = ask(new Build(), { wait: '100ms' })
    await clock.advance(100)
    expect(asked).toMatchObject(rejected({ code: 'STORE_UNAVAILABLE', key: 'report' }))
  })

  it('that does not wait asks once: it runs, or finds the result, or that somebody is at it', async () => {
    const build = new Build()
    const asked = ask(build, { wait: 0 })
    await clock.advance(60_000)
    for (const busy of [ask(build, { wait: 0 }), ask(build, { wait: 0 }, elsewhere)]) {
      await now()
      expect(busy).toMatchObject(rejected({ code: 'ACQUIRE_TIMEOUT', holder: 'here' }))
      expect(String(busy.reason)).toContain('under way at "here", and the call has waited 0 ms; allow a longer')
    }
    build.return(1)
    await now()
    expect(asked).toMatchObject(fulfilled(1))
    expect(await once(here, 'report', build.work, { wait: 0 })).toBe(1)
    expect(build.runs.length).toBe(1)
  })

  it.each([
    ['the call', { budget: 2 }, {}],
    ['its locker', {}, { budget: 2 }],
  ])('with a budget of %s ends by it alone, and says so', async (_, options, defaults) => {
    const build = new Build()
    ask(build, {}, elsewhere)
    await now()
    const frugal = createLocker({ store, clock, ...defaults })
    const asked = ask(build, { wait: '1h', ...options }, frugal)
    const other = ask(build, { wait: '1h', budget: 100 }, frugal)
    await clock.advance(2_000)
    expect(asked).toMatchObject(rejected({ code: 'ACQUIRE_TIMEOUT', holder: 'elsewhere' }))
    expect(String(asked.reason)).toContain(
      'under way at "elsewhere", and the call has spent its budget; allow a larger budget',
    )
    build.return(1)
    await clock.advance(10_000)
    expect([other, build.runs.length]).toMatchObject([fulfilled(1), 1])
  })

  it('with a budget asks no more when its run has lost its lease and that is spent', async () => {
    const build = new Build()
    const asked = ask(build, { budget: 1 })
    await now()
    await elsewhere.revoke('report')
    await clock.advance(4_000)
    build.throw(build.runs[0]?.signal.reason)
    await now()
    expect(asked).toMatchObject(rejected({ code: 'INVALID_OPTION', option: 'budget' }))
  })

  it('whose signal is aborted ends with its reason, and the run goes on for the others', async () => {
    const build = new Build()
    const stop = new AbortController()
    const asked = ask(build, { signal: stop.signal })
    const other = ask(build)
    await now()
    stop.abort('enough')
    await now()
    expect(asked).toMatchObject(rejected('enough'))
    expect(build.runs[0]?.signal.aborted).toBe(false)
    build.return(1)
    await now()
    expect(other).toMatchObject(fulfilled(1))
    await expect(once(here, 'report', build.work, { signal: stop.signal })).rejects.toBe('enough')
  })

  it('that goes last stops the run, and the key is free once its work has settled', async () => {
    const build = new Build()
    const stop = new AbortController()
    for (let left = 2; left > 0; left--) ask(build, { signal: stop.signal })
    await now()
    stop.abort('enough')
    await now()
    const [run] = build.runs as [OnceRun]
    expect(run.signal.reason).toBe('enough')
    // A call that comes in the meantime neither joins what is being stopped nor runs beside it.
    const next = ask(build)
    await clock.advance(2_000)
    expect([next.state, build.runs.length]).toEqual(['pending', 1])
    build.throw(run.signal.reason)
    await now()
    expect([next.state, build.runs.length]).toEqual(['pending', 2])
    build.return('next', 1)
    await now()
    expect(next).toMatchObject(fulfilled('next'))
  })

  it('that goes last while it waits for somebody elsewhere leaves nothing behind', async () => {
    const build = new Build()
    ask(build, {}, elsewhere)
    await now()
    const stop = new AbortController()
    const asked = ask(build, { signal: stop.signal, wait: '1h' })
    await clock.advance(1_000)
    stop.abort('enough')
    await now()
    expect(asked).toMatchObject(rejected('enough'))
    const { length } = sent
    build.return(1)
    await clock.advance(60_000)
    expect(sent.slice(length)).toEqual([])
  })

  it('that came first and left does not lend its work to those who stay', async () => {
    const [first, second, other] = [new Build(), new Build(), new Build()]
    ask(other, {}, elsewhere)
    await now()
    const stop = new AbortController()
    ask(first, { signal: stop.signal })
    const stays = ask(second)
    await clock.advance(100)
    stop.abort()
    other.throw(new Error('not here'))
    await now()
    expect([first.runs.length, second.runs.length]).toEqual([0, 1])
    second.return(2)
    await now()
    expect(stays).toMatchObject(fulfilled(2))
  })

  it('is refused once its locker is closed, and a run has the grace of its leases', async () => {
    const build = new Build()
    const asked = [ask(build), ask(build)]
    await now()
    const closing = follow(here.close({ grace: '5s' }), clock)
    await now()
    await expect(once(here, 'report', build.work)).rejects.toEqual(code('CLOSED'))
    build.return(1)
    await clock.advance(100)
    for (const each of asked) expect(each).toMatchObject(fulfilled(1))
    expect(closing.state).toBe('fulfilled')
  })

  it('ends with CLOSED when the grace was not enough, or when it waits for somebody elsewhere', async () => {
    const [build, other] = [new Build(), new Build()]
    follow(once(elsewhere, 'other', other.work), clock)
    await now()
    const asked = [ask(build), follow(once(here, 'other', other.work), clock)]
    await now()
    follow(here.close({ grace: '1s' }), clock)
    await clock.advance(1_100)
    build.throw(build.runs[0]?.signal.reason)
    await clock.advance(5_000)
    for (const each of asked) expect(each).toMatchObject(rejected({ code: 'CLOSED' }))
  })

  it('for a key whose record is of other work is refused', async () => {
    const found = await claimRecord(elsewhere, 'report', { fingerprint: 'payment' })
    await expect(once(here, 'report', () => 1)).rejects.toEqual(code('KIND_MISMATCH'))
    if (found.type === 'claimed') await found.run.complete(null)
    await expect(once(here, 'report', () => 1)).rejects.toEqual(code('KIND_MISMATCH'))
    const without = await claimRecord(elsewhere, 'without', { fingerprint: 'once:json' })
    if (without.type === 'claimed') await without.run.complete(null)
    await expect(once(here, 'without', () => 1)).rejects.toEqual(code('KIND_MISMATCH'))
  })

  it('whose record was forgotten and claimed for other work gets nothing of that', async () => {
    const build = new Build()
    const asked = ask(build)
    await now()
    for (const table of Object.values(tables)) table.delete('report')
    const found = await claimRecord(elsewhere, 'report', { fingerprint: 'payment' })
    if (found.type === 'claimed') await found.run.complete(new TextEncoder().encode('"secret"'))
    build.return(1)
    await now()
    expect(asked).toMatchObject(rejected({ code: 'KIND_MISMATCH' }))
  })

  it('with a bad argument is refused by name, before anything is sent', async () => {
    for (const [option, options] of [
      ['keep', { keep: 'soon' as never }],
      ['ttl', { ttl: -1 }],
      ['queue', { queue: fifo() } as never],
      ['fingerprint', { fingerprint: 'mine' } as never],
    ] as const) {
      await expect(once(here, 'k', () => 1, options)).rejects.toMatchObject({ code: 'INVALID_OPTION', option })
    }
    await expect(once(here, '', () => 1)).rejects.toMatchObject({ option: 'key' })
    await expect(once(here, 'k', 1 as never)).rejects.toMatchObject({ option: 'work' })
    await expect(once(createLocker({ store: storeLike(store), clock }), 'k', () => 1)).rejects.toMatchObject({
      option: 'locks',
    })
    expect(sent).toEqual([])
  })
})

it('on Workers each call claims and waits for itself', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  const build = new Build()
  const stop = new AbortController()
  const asked = [ask(build), ask(build), ask(build, { signal: stop.signal })]
  await now()
  expect([build.runs.length, sent.filter((name) => name === 'claim').length >= 3]).toEqual([1, true])
  stop.abort('enough')
  build.return(1)
  // The embedded notifier wakes nobody there, so they check by themselves.
  await clock.advance(1_000)
  expect(asked).toMatchObject([fulfilled(1), fulfilled(1), rejected('enough')])
  expect(build.runs.length).toBe(1)
})

describe('without an answer', () => {
  it.each(['claim', 'complete'] as const)('of a %s, the request is repeated, and one run serves all', async (call) => {
    fates[call] = ['reply lost']
    const build = new Build()
    const asked = [ask(build), ask(build)]
    await clock.advance(1_500)
    build.return(1)
    await clock.advance(1_500)
    for (const each of asked) expect(each).toMatchObject(fulfilled(1))
    expect([build.runs.length, sent]).toEqual([
      1,
      call === 'claim' ? ['claim', 'claim', 'complete'] : ['claim', 'complete', 'complete'],
    ])
  })

  it('of any claim, all callers are told, and the key is free', async () => {
    fates.claim = Array.from({ length: 4 }, () => 'reply lost' as const)
    const build = new Build()
    const asked = [ask(build), ask(build)]
    await clock.advance(5_000)
    for (const each of asked) expect(each).toMatchObject(rejected({ code: 'STORE_UNAVAILABLE' }))
    await clock.advance(10_000)
    expect(await once(elsewhere, 'report', () => 'other')).toBe('other')
  })

  it('of its completion, callers get what was done, and others find it once the store answers', async () => {
    fates.complete = Array.from({ length: 3 }, () => 'request lost' as const)
    const build = new Build()
    const asked = ask(build)
    await now()
    build.return(1)
    await clock.advance(3_000)
    expect(asked).toMatchObject(fulfilled(1))
    await clock.advance(3_000)
    expect(await once(elsewhere, 'report', () => 'again')).toBe(1)
  })

  it('of its completion to the end, callers get what was done, and others run again', async () => {
    fates.complete = Array.from({ length: 99 }, () => 'request lost' as const)
    const build = new Build()
    const asked = ask(build)
    await now()
    build.return(1)
    await clock.advance(20_000)
    expect(asked).toMatchObject(fulfilled(1))
    expect(await once(elsewhere, 'report', () => 'again')).toBe('again')
  })

  it('for want of memory, callers get what was done, and the result is no riddle to others', async () => {
    fates.complete = Array.from({ length: 99 }, () => 'full' as const)
    const build = new Build()
    const asked = ask(build)
    await now()
    build.return(1)
    await clock.advance(20_000)
    expect(asked).toMatchObject(fulfilled(1))
    expect(await once(elsewhere, 'report', () => 'again')).toBe('again')
  })
})
