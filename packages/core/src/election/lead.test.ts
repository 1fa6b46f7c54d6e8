import { follow, ManualClock, type Settlement } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { storeLike } from '../../../../test/support/store-like.ts'
import type { LeaseStore } from '../adapter/index.ts'
import { LeaseholdError, StoreUnavailableError } from '../errors.ts'
import { createLocker, type Locker, type LockerEvent, type LockerOptions } from '../index.ts'
import { memoryNotifier, memoryStore } from '../memory/index.ts'
import { MemoryStore } from '../memory/memory-store.ts'
import { openTables } from '../memory/tables.ts'
import { fifo } from '../queue/index.ts'
import { type ElectionEvent, type Leadership, type LeadOptions, lead, leaderOf } from './index.ts'

let clock: ManualClock
let store: MemoryStore
/** Whether requests of `here` get no answer. */
let silent: boolean

beforeEach(() => {
  clock = new ManualClock()
  // Its timer only frees memory. Without it, a test sees what an election leaves behind.
  const still = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    schedule: () => () => undefined,
  }
  store = new MemoryStore(still, 600_000, openTables(still))
  silent = false
})

const unknown = { type: 'unknown', executed: 'unknown' } as const

/** The locker of a process of its own. The process `here` may be cut off from the store. */
function locker(name: string, options: Partial<LockerOptions> = {}): Locker {
  const unlessSilent =
    <R, O>(call: (requests: readonly R[], ...rest: never[]) => Promise<readonly O[]>) =>
    async (requests: readonly R[], ...rest: never[]) => {
      if (!silent || name !== 'here') return call(requests, ...rest)
      await new Promise<void>((resolve) => (rest[0] as unknown as { onOver(then: () => void): void }).onOver(resolve))
      return requests.map(() => unknown)
    }
  const cut = (['acquire', 'renew', 'release', 'checkHolders'] as const).map((call) => [
    call,
    unlessSilent(
      (store[call] as (requests: readonly unknown[], ...rest: never[]) => Promise<readonly unknown[]>).bind(store),
    ),
  ])
  const changed = Object.fromEntries(cut) as Partial<LeaseStore>
  return createLocker({ store: storeLike(store, changed), notifier: memoryNotifier(store), clock, name, ...options })
}

/** A candidate whose work ends when a test says so, or when it is told to stop. */
class Standing {
  readonly events: ElectionEvent[] = []
  readonly terms: Leadership[] = []
  /** When each event came, in milliseconds. */
  readonly at: number[] = []
  readonly locks: Locker
  readonly candidate: ReturnType<typeof lead>
  readonly ended: Settlement<void>
  /** Whether its work stops when it is told to. */
  obeys = true
  #running = 0
  /** How often the work ran at once, at most. */
  mostRunning = 0
  end: { return(): void; throw(error: unknown): void } = { return: () => undefined, throw: () => undefined }

  constructor(name: string, options: LeadOptions = {}, locks = locker(name)) {
    this.locks = locks
    const onEvent = (event: ElectionEvent): void => {
      this.events.push(event)
      this.at.push(clock.monotonicMs())
    }
    this.candidate = lead(this.locks, 'job', (term) => this.#work(term), { onEvent, ...options })
    this.ended = follow(this.candidate.ended, clock)
  }

  async #work(term: Leadership): Promise<void> {
    this.terms.push(term)
    this.mostRunning = Math.max(this.mostRunning, ++this.#running)
    try {
      await new Promise<void>((resolve, reject) => {
        this.end = { return: resolve, throw: reject }
        term.signal.addEventListener('abort', () => this.obeys && reject(term.signal.reason))
      })
    } finally {
      this.#running--
    }
  }

  get told(): string[] {
    return this.events.map(({ type }) => type)
  }

  get term(): Leadership {
    return this.terms.at(-1) as Leadership
  }

  /** When it last reported this event, in milliseconds. */
  when(type: ElectionEvent['type']): number {
    return this.at[this.told.lastIndexOf(type)] as number
  }
}

const now = (): Promise<void> => clock.advance(0)

describe('of several candidates', () => {
  it('one leads, for as long as it lives, and the others wait', async () => {
    const [first, second] = [new Standing('here'), new Standing('there')]
    await clock.advance(3_600_000)
    expect([first.told, second.told]).toEqual([['campaigning', 'elected'], ['campaigning']])
    expect([first.candidate.fence, second.candidate.fence]).toEqual([first.term.fence, undefined])
    first.term.assertValid()
    expect(first.term.remaining()).toBeGreaterThan(5_000)
    expect(await leaderOf(second.locks, 'job')).toMatchObject({
      name: 'here',
      fence: first.term.fence,
      since: expect.any(Date),
    })
  })

  it('the next leads at once when the leader resigns, and that one stands again, behind the others', async () => {
    const [first, second] = [new Standing('here'), new Standing('there')]
    await clock.advance(5_000)
    await first.candidate.resign()
    await now()
    expect(first.told).toEqual(['campaigning', 'elected', 'resigned'])
    expect(second.told).toEqual(['campaigning', 'elected'])
    expect(second.term.fence).toBeGreaterThan(first.term.fence)
    await clock.advance(3_000)
    expect(first.told.at(-1)).toBe('campaigning')
    await second.candidate.resign()
    await now()
    expect(first.terms.length).toBe(2)
  })

  it('each is of another term, though it has the name and the process of the one before', async () => {
    const locks = locker('here')
    const [first, second] = [new Standing('here', {}, locks), new Standing('here', {}, locks)]
    await clock.advance(1_000)
    const { fence } = first.term
    await first.candidate.stop()
    await now()
    expect(second.term.fence).toBeGreaterThan(fence)
    expect(await leaderOf(locks, 'job')).toMatchObject({ name: 'here', fence: second.term.fence })
  })

  it('lead one after the other in a queue, whoever resigns goes to its end', async () => {
    const all = ['a', 'b', 'c'].map(
      (name) =>
        new Standing(name, { queue: fifo() }, createLocker({ store, notifier: memoryNotifier(store), clock, name })),
    )
    const names: unknown[] = []
    for (let terms = 0; terms < 6; terms++) {
      await clock.advance(10_000)
      const leading = all.find(({ candidate }) => candidate.fence !== undefined) as Standing
      names.push((await leaderOf(leading.locks, 'job'))?.name)
      await leading.candidate.resign()
    }
    expect(names).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  })

  it('nobody leads when the last has stopped, and nothing is left behind', async () => {
    const first = new Standing('here')
    await clock.advance(60_000)
    await first.candidate.stop()
    expect(first.ended.state).toBe('fulfilled')
    expect(await leaderOf(first.locks, 'job')).toBeNull()
    expect(clock.pending).toBe(0)
    expect(first.told).toEqual(['campaigning', 'elected', 'resigned'])
    expect(first.events.at(-1)).toMatchObject({ outcome: 'released' })
  })
})

describe('a leader that the store does not answer', () => {
  it.each([
    ['a third of the ttl by default', {}, 10_000, 3_334],
    ['what it says', { stopWithin: '1s' }, 10_000, 1_000],
    ['what it says, of its own ttl', { ttl: '30s', stopWithin: '15s' }, 30_000, 15_000],
  ] as const)(
    'tells its work to stop, with %s left before another can lead',
    async (_, options, ttlMs, stopWithinMs) => {
      const [first, second] = [new Standing('here', options), new Standing('there', options)]
      await clock.advance(60_000)
      first.obeys = false
      silent = true
      await clock.advance(2 * ttlMs)
      expect(first.told).toEqual(['campaigning', 'elected', 'lost', 'overrun'])
      expect(first.events[2]).toMatchObject({ reason: 'unreachable' })
      expect(first.term.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'unreachable' })
      expect(second.when('elected') - first.when('lost')).toBeGreaterThanOrEqual(stopWithinMs)
      // It did not give up early either: renewals had the rest of the time.
      expect(second.when('elected') - first.when('lost')).toBeLessThan(stopWithinMs + ttlMs / 10)
      expect(() => first.term.assertValid()).toThrow(first.term.signal.reason)
    },
  )

  it('never overlaps with the next, if its work stops when it is told to', async () => {
    const [first, second] = [new Standing('here'), new Standing('there')]
    await clock.advance(60_000)
    silent = true
    const overlaps: boolean[] = []
    for (let passedMs = 0; passedMs < 20_000; passedMs += 100) {
      await clock.advance(100)
      overlaps.push(!first.term.signal.aborted && second.terms.length > 0)
    }
    expect(second.terms.length).toBe(1)
    expect(overlaps).not.toContain(true)
  })

  it('goes on if an answer comes in time', async () => {
    const first = new Standing('here')
    await clock.advance(60_000)
    silent = true
    await clock.advance(2_000)
    silent = false
    await clock.advance(60_000)
    expect(first.told).toEqual(['campaigning', 'elected'])
  })

  it('keeps the lock while its work stops, if an answer comes after it was told', async () => {
    const [first, second] = [new Standing('here'), new Standing('there')]
    await clock.advance(60_000)
    first.obeys = false
    silent = true
    while (!first.told.includes('lost')) await clock.advance(100)
    silent = false
    await clock.advance(3_000)
    expect(second.terms).toEqual([])
    first.end.return()
    await clock.advance(100)
    expect(second.terms.length).toBe(1)
  })

  it('campaigns through the outage, and leads again when it is over', async () => {
    const first = new Standing('here')
    await clock.advance(5_000)
    silent = true
    await clock.advance(600_000)
    expect(first.told).toEqual(['campaigning', 'elected', 'lost', 'campaigning'])
    silent = false
    await clock.advance(5_000)
    expect(first.told.at(-1)).toBe('elected')
    expect(first.terms[1]?.fence).toBeGreaterThan(first.terms[0]?.fence as number)
  })

  it('was no leader before the outage either, and leads when it is over', async () => {
    silent = true
    const first = new Standing('here')
    await clock.advance(600_000)
    expect([first.told, first.ended.state]).toEqual([['campaigning'], 'pending'])
    silent = false
    await clock.advance(5_000)
    expect(first.told).toEqual(['campaigning', 'elected'])
  })
})

describe('a locker whose calls give up, or do not renew,', () => {
  it.each(['held', 'silent'])('has candidates that do not, though the lock is %s', async (why) => {
    const holder = why === 'held' ? await locker('other').acquire('job') : undefined
    silent = why === 'silent'
    const first = new Standing('here', {}, locker('here', { budget: 3, wait: '1s' }))
    await clock.advance(60_000)
    expect([first.ended.state, first.terms.length]).toEqual(['pending', 0])
    silent = false
    await holder?.release()
    await clock.advance(20_000)
    expect(first.told.at(-1)).toBe('elected')
  })

  it('has leaders whose term has no end', async () => {
    const first = new Standing('here', {}, locker('here', { maxHold: '30s' }))
    await clock.advance(120_000)
    expect(first.told).toEqual(['campaigning', 'elected'])
  })

  it('has candidates that wait until they are woken, though others have used up its budget', async () => {
    const leader = new Standing('leader')
    const budget = { left: 9 }
    const locks = locker('here', { budget, recheck: '1h' })
    const waiting = new Standing('here', {}, locks)
    await clock.advance(1_000)
    budget.left = 0
    const late = new Standing('here', {}, locks)
    await clock.advance(600_000)
    for (const { candidate } of [leader, waiting]) {
      await candidate.stop()
      await now()
    }
    expect([waiting.told, late.told]).toEqual([
      ['campaigning', 'elected', 'resigned'],
      ['campaigning', 'elected'],
    ])
  })

  it('has leaders that do, and of whom nobody tells that they lead for long', async () => {
    const told: string[] = []
    const options = { renew: false, longHeld: '1m', onEvent: ({ type }: LockerEvent) => told.push(type) } as const
    const first = new Standing('here', {}, locker('here', options))
    await clock.advance(600_000)
    expect([first.told, told]).toEqual([['campaigning', 'elected'], ['acquired']])
  })
})

it('a grant that comes late is no election, for there would be no time to renew it', async () => {
  let late = true
  const slow = storeLike(store, {
    async acquire(requests, call) {
      const answers = await store.acquire(requests, call)
      // The process is busy, and reads the answer late.
      if (late) clock.block(6_000)
      late = false
      return answers
    },
  })
  const first = new Standing('here', {}, createLocker({ store: slow, clock }))
  await clock.advance(60_000)
  expect(first.told).toEqual(['campaigning', 'elected'])
  expect(late).toBe(false)
})

it('work does not begin if its candidate is stopped in that moment, and hears of it if it has begun', async () => {
  const begun = new Set<boolean>()
  for (let turns = 0; turns < 20; turns++) {
    const stop = new AbortController()
    const soon = async (): Promise<void> => {
      for (let turn = 0; turn < turns; turn++) await undefined
      stop.abort()
    }
    const store = memoryStore({ clock })
    const watched = storeLike(store, {
      async acquire(requests, call) {
        const answers = await store.acquire(requests, call)
        void soon()
        return answers
      },
    })
    const first = new Standing('here', { signal: stop.signal }, createLocker({ store: watched, clock }))
    await clock.advance(100)
    expect([first.ended.state, await leaderOf(first.locks, 'job')]).toEqual(['fulfilled', null])
    begun.add(first.terms.length > 0)
  }
  expect(begun).toEqual(new Set([true, false]))
})

it('work does not begin if its candidate is stopped by its own listener', async () => {
  const locks = locker('here')
  let begun = false
  const candidate = lead(locks, 'job', () => (begun = true), {
    onEvent: ({ type }) => type === 'elected' && candidate.stop(),
  })
  await candidate.ended
  expect([begun, await leaderOf(locks, 'job')]).toEqual([false, null])
})

describe('a leader that loses the lock', () => {
  it('is told as soon as that is known, and campaigns again after a pause', async () => {
    const first = new Standing('here', { pause: '20s' })
    await clock.advance(5_000)
    await locker('operator').revoke('job')
    await clock.advance(4_000)
    expect(first.events.at(-1)).toMatchObject({ type: 'lost', reason: 'gone' })
    expect(first.candidate.fence).toBeUndefined()
    await clock.advance(10_000 - 4_000)
    expect(first.told.at(-1)).toBe('lost')
    await clock.advance(30_000)
    expect(first.told).toEqual(['campaigning', 'elected', 'lost', 'campaigning', 'elected'])
  })

  it('because its process was frozen, is told when it wakes, by its signal or before', async () => {
    const [first, second] = [new Standing('here'), new Standing('there')]
    await clock.advance(60_000)
    first.obeys = false
    silent = true
    clock.block(30_000)
    expect(() => first.term.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_LOST', reason: 'expired' }))
    expect(first.term.signal.aborted).toBe(true)
    await clock.advance(1_000)
    expect(second.term.fence).toBeGreaterThan(first.term.fence)
  })

  it('never has two works at once, however long the first goes on', async () => {
    const first = new Standing('here')
    await clock.advance(5_000)
    first.obeys = false
    await locker('operator').revoke('job')
    await clock.advance(60_000)
    expect(first.told).toEqual(['campaigning', 'elected', 'lost', 'overrun'])
    first.end.return()
    await clock.advance(5_000)
    expect([first.told.at(-1), first.mostRunning]).toEqual(['elected', 1])
  })
})

describe('the work of a leader', () => {
  it('that returns by itself ends the candidacy', async () => {
    const [first, second] = [new Standing('here'), new Standing('there')]
    await clock.advance(1_000)
    first.end.return()
    await now()
    expect([first.ended.state, first.told.at(-1), second.told.at(-1)]).toEqual(['fulfilled', 'resigned', 'elected'])
    await clock.advance(60_000)
    expect(first.terms.length).toBe(1)
  })

  it.each(['later', 'at once'])(
    'that throws %s gives the lock back, and ends the candidacy with its error',
    async (when) => {
      const error = new Error('no disk')
      const locks = locker('here')
      const failing =
        when === 'at once'
          ? () => {
              throw error
            }
          : () => Promise.reject(error)
      const ended = follow(lead(locks, 'job', failing).ended, clock)
      await now()
      expect(ended).toMatchObject({ state: 'rejected', reason: error })
      expect(await leaderOf(locks, 'job')).toBeNull()
    },
  )

  it('that throws after it was told to stop only tells so, and its signal’s reason is no error', async () => {
    const first = new Standing('here')
    await clock.advance(1_000)
    first.obeys = false
    const resigning = first.candidate.resign()
    const error = new Error('while stopping')
    first.end.throw(error)
    await resigning
    await clock.advance(5_000)
    expect(first.events).toContainEqual({ type: 'failed', key: 'job', fence: first.terms[0]?.fence, cause: error })
    expect([first.terms.length, first.ended.state]).toEqual([2, 'pending'])
    first.obeys = true
    await first.candidate.resign()
    await now()
    expect(first.told.filter((type) => type === 'failed').length).toBe(1)
  })

  it('that is stopped by something with its signal, as a timer of Node, tells of no failure', async () => {
    const first = new Standing('here')
    await clock.advance(1_000)
    first.obeys = false
    const resigning = first.candidate.resign()
    first.end.throw(new Error('The operation was aborted', { cause: first.terms[0]?.signal.reason }))
    await resigning
    expect(first.told).not.toContain('failed')
  })

  it('that resigns by its leadership, and returns, has let the next lead at once', async () => {
    const told: string[] = []
    const locks = locker('here')
    const resigning = lead(locks, 'job', ({ resign }) => resign(), { onEvent: ({ type }) => told.push(type) })
    const second = new Standing('there')
    await clock.advance(100)
    expect([told, second.terms.length]).toEqual([['campaigning', 'elected', 'resigned'], 1])
    await clock.advance(5_000)
    expect(told.at(-1)).toBe('campaigning')
    await resigning.stop()
  })

  it.each(['resign', 'stop'] as const)(
    'that does not stop on `%s` is left after `stopWithin`, and the lock given up',
    async (how) => {
      const [first, second] = [new Standing('here', { stopWithin: '2s' }), new Standing('there')]
      await clock.advance(1_000)
      first.obeys = false
      const over = follow(first.candidate[how](), clock)
      await clock.advance(1_900)
      expect([over.state, second.terms.length]).toEqual(['pending', 0])
      await clock.advance(100)
      expect([over.state, second.terms.length]).toEqual(['fulfilled', 1])
      expect(first.told.slice(2)).toEqual(['overrun', 'resigned'])
      // It is stopped all the same, although its work goes on.
      const stopped = follow(first.candidate.stop(), clock)
      await now()
      expect(stopped.state).toBe('fulfilled')
    },
  )
})

describe('a candidacy', () => {
  it.each(['campaigning', 'leading', 'pausing'])('ends with its signal while it is %s', async (state) => {
    const stop = new AbortController()
    const holder = state === 'campaigning' ? await locker('other').acquire('job') : undefined
    const first = new Standing('here', { signal: stop.signal })
    await clock.advance(1_000)
    if (state === 'pausing') await first.candidate.resign()
    stop.abort()
    await now()
    expect(first.ended.state).toBe('fulfilled')
    await holder?.release()
    await clock.advance(10_000)
    expect([first.terms.length, await leaderOf(first.locks, 'job')]).toEqual([holder ? 0 : 1, null])
    expect(first.term?.signal.aborted ?? true).toBe(true)
  })

  it('with a signal that is aborted already does not begin', async () => {
    const first = new Standing('here', { signal: AbortSignal.abort() })
    await now()
    expect([first.ended.state, first.told]).toEqual(['fulfilled', []])
  })

  it.each(['campaigning', 'leading'])('ends when its locker is closed while it is %s', async (state) => {
    if (state === 'campaigning') await locker('other').acquire('job', { renew: false, ttl: '1h' })
    const first = new Standing('here')
    await clock.advance(1_000)
    follow(first.locks.close({ grace: '1s' }), clock)
    await clock.advance(1_100)
    expect(first.ended.state).toBe('fulfilled')
    expect(() => lead(first.locks, 'job', () => undefined)).toThrow(expect.objectContaining({ code: 'CLOSED' }))
  })

  it.each(['leading', 'overrun', 'pausing'])(
    'whose work goes on ends when its locker is closed while it is %s, and the overrun was told',
    async (state) => {
      const first = new Standing('here', { pause: '1h', stopWithin: '2s' })
      await clock.advance(1_000)
      first.obeys = state === 'pausing'
      if (state !== 'leading') follow(first.candidate.resign(), clock)
      await clock.advance(10_000)
      const closing = follow(first.locks.close({ grace: '1s' }), clock)
      await clock.advance(state === 'leading' ? 3_000 : 0)
      expect([first.ended.state, closing.state]).toEqual(['fulfilled', 'fulfilled'])
      expect(first.told.includes('overrun')).toBe(state !== 'pausing')
      expect(await leaderOf(locker('there'), 'job')).toBeNull()
    },
  )

  it.each([
    ['another kind', new LeaseholdError('KIND_MISMATCH', 'something else')],
    ['no permission', new StoreUnavailableError('refused to acquire', 'no', new Error('NOPERM'), true)],
  ])('ends with the error of a store that refuses for good: %s', async (_, error) => {
    const refusing = storeLike(store, { acquire: async (requests) => requests.map(() => ({ type: 'refused', error })) })
    const { ended } = lead(createLocker({ store: refusing, clock }), 'job', () => undefined)
    await expect(ended).rejects.toMatchObject({ code: error.code, key: 'job' })
  })

  it('whose end is handled once leaves no rejection that is not, whoever stops it', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason)
    const former = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', onUnhandled)
    const error = new Error('no disk')
    const candidate = lead(locker('here'), 'job', () => Promise.reject(error))
    const ended = follow(candidate.ended, clock)
    void candidate.resign()
    void candidate.stop()
    await clock.advance(100)
    const failed = lead(locker('here'), 'job', () => Promise.reject(error))
    const failedEnd = follow(failed.ended, clock)
    await clock.advance(100)
    void failed.resign()
    void failed.stop()
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', onUnhandled)
    for (const listener of former) process.on('unhandledRejection', listener)
    expect([ended.state, failedEnd.reason, unhandled]).toEqual(['fulfilled', error, []])
  })

  it('is disposed with its block', async () => {
    const locks = locker('here')
    {
      await using candidate = lead(
        locks,
        'job',
        ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      )
      await clock.advance(100)
      expect(candidate.fence).toEqual(expect.any(Number))
    }
    expect(await leaderOf(locks, 'job')).toBeNull()
  })

  it('a listener that throws changes nothing', async () => {
    const locks = locker('here')
    const { ended } = lead(locks, 'job', () => undefined, {
      onEvent: () => {
        throw new Error('listener')
      },
    })
    await ended
  })

  it('with a bad argument is refused by name', () => {
    const locks = locker('here')
    for (const [option, options] of [
      ['stopWithin', { stopWithin: '6s' }],
      ['pause', { pause: 'soon' as never }],
      ['onEvent', { onEvent: 1 as never }],
      ['ttl', { ttl: -1 }],
      ['wait', { wait: '1s' } as never],
      ['renew', { renew: false } as never],
      ['turns', { turns: 1 } as never],
    ] as const) {
      expect(() => lead(locks, 'job', () => undefined, options)).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', option }),
      )
    }
    expect(() => lead(locks, '', () => undefined)).toThrow(expect.objectContaining({ option: 'key' }))
    expect(() => lead(locks, 'job', 1 as never)).toThrow(expect.objectContaining({ option: 'work' }))
    expect(() => lead({} as Locker, 'job', () => undefined)).toThrow(expect.objectContaining({ option: 'locks' }))
  })
})
