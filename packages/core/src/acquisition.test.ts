import {
  follow,
  ManualClock,
  refusing,
  replyAfter,
  replyLost,
  requestLost,
  ScriptedStore,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { AcquireTimeoutError, LeaseholdError, StoreUnavailableError } from './errors.ts'
import type { LockerEvent } from './events.ts'
import { createLocker, type Locker } from './locker.ts'
import { poll } from './timing/backoff.ts'
import { drawOwner } from './token.ts'

let clock: ManualClock
let store: ScriptedStore
let locks: Locker
let events: LockerEvent[]

beforeEach(() => {
  clock = new ManualClock()
  store = new ScriptedStore(clock)
  events = []
  locks = createLocker({ store, clock, onEvent: (event) => events.push(event) })
})

/** Somebody else, elsewhere, takes the lock for an hour. */
const occupy = async (key = 'k'): Promise<void> => {
  await store.acquire([{ key, owner: drawOwner(), ttlMs: 3_600_000, fences: 1 }], new AbortController().signal)
  store.calls.length = 0
}

const owners = (): (string | undefined)[] => store.called('acquire').map(({ requests }) => requests[0]?.owner)

describe('an acquire of a free lock', () => {
  it('is granted by one command', async () => {
    const lease = await locks.acquire('k')
    expect(lease).toMatchObject({ key: 'k', commands: 1, waitedMs: 0, fence: clock.wallMs() * 1_000 })
    expect(store.calls).toMatchObject([{ name: 'acquire', requests: [{ key: 'k', ttlMs: 10_000 }] }])
    expect(lease.token).toBe(`${owners()[0]}.${lease.fence}`)
  })

  it('draws a new owner each time', async () => {
    for (const _ of [1, 2, 3]) await (await locks.acquire('k')).release()
    expect(new Set(owners()).size).toBe(3)
  })

  it('gives each holder a higher fence than all before', async () => {
    const fences: (number | null)[] = []
    for (const ms of [0, 0, 5, 0]) {
      const lease = await locks.acquire('k')
      fences.push(lease.fence)
      await lease.release()
      await clock.advance(ms)
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => Number(a) - Number(b)))
  })

  it('is trusted from the sending of its request, not from the answer', async () => {
    store.next('acquire', replyAfter(900))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(900)
    expect(acquiring.value?.remaining()).toBe(10_000 - 102 - 900)
    expect(acquiring.value?.waitedMs).toBe(900)
  })
})

describe('an acquire of a held lock', () => {
  beforeEach(() => occupy())

  it('that does not wait is answered null, by one command and at once', async () => {
    expect(await locks.tryAcquire('k')).toBeNull()
    expect(store.called('acquire')).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it('with wait 0 rejects at once, after one command', async () => {
    const refusal = await locks.acquire('k', { wait: 0 }).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(AcquireTimeoutError)
    expect(refusal).toMatchObject({ key: 'k', waitedMs: 0, commands: 1 })
    expect(store.calls).toHaveLength(1)
  })

  it('rejects when its wait is over, not sooner or later, and tells its figures', async () => {
    const acquiring = follow(locks.acquire('k', { wait: '5s' }), clock)
    await clock.advance(4_999)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1)
    expect(acquiring.reason).toBeInstanceOf(AcquireTimeoutError)
    const { waitedMs, commands } = acquiring.reason as AcquireTimeoutError
    expect(waitedMs).toBeCloseTo(5_000, 1)
    expect(commands).toBe(store.called('acquire').length)
    expect(clock.pending).toBe(0)
  })

  it('is told once as contended', async () => {
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(10_000)
    expect(acquiring.state).toBe('rejected')
    expect(events).toEqual([{ type: 'contended', key: 'k' }])
  })

  it('keeps its owner through all its tries', async () => {
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(10_000)
    expect(acquiring.state).toBe('rejected')
    expect(owners().length).toBeGreaterThan(5)
    expect(new Set(owners()).size).toBe(1)
  })

  it('sends no release for tries that were all refused', async () => {
    const acquiring = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(60_000)
    expect(acquiring.state).toBe('rejected')
    expect(store.called('release')).toEqual([])
  })

  it('uses no more commands than its budget, and gives up as soon as that is spent', async () => {
    for (const budget of [1, 2, 5]) {
      store.calls.length = 0
      const acquiring = follow(locks.acquire('k', { budget }), clock)
      await clock.advance(9_999)
      expect(acquiring.reason).toBeInstanceOf(AcquireTimeoutError)
      expect(acquiring.reason).toMatchObject({ commands: budget })
      expect(store.calls).toHaveLength(budget)
    }
  })

  it('of another key is not affected', async () => {
    expect((await locks.acquire('other')).commands).toBe(1)
  })
})

describe('an acquire that waits longer than its ttl', () => {
  it('is granted when the holder is done, with the ttl it asked for', async () => {
    const holder = await createLocker({ store, clock }).acquire('k')
    const acquiring = follow(locks.acquire('k', { ttl: '1s', wait: '10s', strategy: poll() }), clock)
    await clock.advance(4_000)
    expect(acquiring.state).toBe('pending')
    await holder.release()
    await clock.advance(80)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value?.remaining()).toBeGreaterThan(900)
    expect(acquiring.value?.remaining()).toBeLessThanOrEqual(1_000 - 12)
    expect(acquiring.value?.waitedMs).toBeGreaterThan(4_000)
  })
})

describe('an acquire whose store does not answer', () => {
  it('rejects when its wait is over, and says that it may have been carried out', async () => {
    store.always('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { wait: '5s' }), clock)
    await clock.advance(4_999)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1)
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
    expect(acquiring.reason).toMatchObject({ executed: 'unknown' })
  })

  it('gives each attempt half a command deadline', async () => {
    store.always('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { wait: '5s' }), clock)
    await clock.advance(5_000)
    expect(acquiring.state).toBe('rejected')
    expect(store.called('acquire').map(({ atMs }) => atMs)).toEqual([0, 1_000, 2_000, 3_000, 4_000])
  })

  it.each([
    { ttl: '10s', deadlineMs: 2_000, what: 'the deadline of the store' },
    { ttl: '3s', deadlineMs: 1_000, what: 'a third of the ttl' },
  ] as const)('that does not wait settles within $what ($deadlineMs ms), a retry included', async (row) => {
    const { ttl, deadlineMs } = row
    store.always('acquire', requestLost)
    const calls = [() => locks.acquire('k', { ttl, wait: 0 }), () => locks.tryAcquire('k', { ttl })]
    for (const call of calls) {
      store.calls.length = 0
      const sinceMs = clock.monotonicMs()
      const acquiring = follow<unknown>(call(), clock)
      await clock.advance(deadlineMs - 1)
      expect(acquiring.state).toBe('pending')
      await clock.advance(1)
      expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
      expect(store.called('acquire').map(({ atMs }) => atMs - sinceMs)).toEqual([0, deadlineMs / 2])
    }
  })

  it('settles at its wait although that is shorter than a command deadline', async () => {
    store.always('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { wait: 100 }), clock)
    await clock.advance(100)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 100 })
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
  })

  it('carries the client error as its cause, and says if the request was certainly not carried out', async () => {
    const cause = new Error('connect ECONNREFUSED')
    store.always('acquire', unavailable('no', cause))
    const acquiring = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(1_000)
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
    expect(acquiring.reason).toMatchObject({ executed: 'no', cause })
  })

  it('says unknown if any attempt may have been carried out, whatever became of the last', async () => {
    store.always('acquire', unavailable('no'))
    store.next('acquire', unavailable('unknown'))
    const acquiring = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(1_000)
    expect(acquiring.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
  })

  it('is not hammered when it fails at once: the tries are spaced, more and more', async () => {
    store.always('acquire', unavailable('no'))
    const acquiring = follow(locks.acquire('k', { wait: '30s' }), clock)
    await clock.advance(30_000)
    expect(acquiring.state).toBe('rejected')
    const sent = store.called('acquire').map(({ atMs }) => atMs)
    expect(sent.length).toBeGreaterThan(20)
    expect(sent.length).toBeLessThan(70)
  })

  it('tryAcquire that fails at once settles within one command deadline, in few commands', async () => {
    store.always('acquire', unavailable('no'))
    const acquiring = follow(locks.tryAcquire('k'), clock)
    await clock.advance(2_000)
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
    expect(store.called('acquire').length).toBeLessThan(12)
  })

  it('stops at its budget', async () => {
    store.always('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { budget: 2 }), clock)
    await clock.advance(10_000)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 2_000 })
    expect(acquiring.reason).toBeInstanceOf(StoreUnavailableError)
    expect(store.called('acquire')).toHaveLength(2)
  })

  it('is not confused with a lock that is held: one refusal is enough to know', async () => {
    await occupy()
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(0)
    store.always('acquire', requestLost)
    await clock.advance(10_000)
    expect(acquiring.reason).toBeInstanceOf(AcquireTimeoutError)
    expect(acquiring.atMs).toBeCloseTo(10_000, 1)
  })
})

describe('an attempt without an answer', () => {
  it('is repeated with the same owner, and the repeat finds its own lease', async () => {
    store.next('acquire', replyLost)
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(0)
    const mintedAtMs = clock.wallMs()
    await clock.advance(1_000)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value).toMatchObject({ commands: 2, fence: mintedAtMs * 1_000 })
    expect(new Set(owners()).size).toBe(1)
    expect(events.map(({ type }) => type)).toEqual(['acquired'])
  })

  it('does not date the lease: the answered repeat does, and the store keeps it as long', async () => {
    store.next('acquire', replyLost)
    const acquiring = follow(locks.acquire('k', { renew: false }), clock)
    await clock.advance(1_000)
    expect(acquiring.value?.remaining()).toBe(10_000 - 102)
    await clock.advance(10_000 - 102 - 1)
    expect(acquiring.value?.remaining()).toBe(1)
    expect(await locks.isLocked('k')).toBe(true)
  })

  it('is repeated also when no waiting was asked for', async () => {
    store.next('acquire', replyLost)
    const acquiring = follow(locks.tryAcquire('k'), clock)
    await clock.advance(1_000)
    expect(acquiring.value).toMatchObject({ commands: 2 })
  })

  it('whose grant came and went unseen is spent: the next try has a new owner and a higher fence', async () => {
    store.next('acquire', replyLost)
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(500)
    const unseen = await locks.inspect('k')
    await locks.revoke('k')
    await clock.advance(1_000)
    expect(acquiring.state).toBe('fulfilled')
    const [first, repeat, anew] = owners()
    expect(repeat).toBe(first)
    expect(anew).not.toBe(first)
    expect(acquiring.value?.commands).toBe(3)
    expect(acquiring.value?.fence).toBeGreaterThan((unseen.held && unseen.fence) || Number.POSITIVE_INFINITY)
  })
})

describe('a grant that leaves too little time', () => {
  const options = { ttl: '1s', minValidity: 900 } as const

  it('is given back, and the next try has a new owner', async () => {
    store.next('acquire', replyAfter(100))
    const acquiring = follow(locks.acquire('k', options), clock)
    await clock.advance(100)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value).toMatchObject({ commands: 2 })
    const [late, used] = owners()
    expect(used).not.toBe(late)
    expect(store.called('release')).toMatchObject([{ requests: [{ key: 'k', owner: late }] }])
    await acquiring.value?.release()
    expect(await locks.isLocked('k')).toBe(false)
  })

  it('is measured by both clocks: a machine that was suspended meanwhile gets no stale lease', async () => {
    store.next('acquire', replyAfter(10))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(5)
    clock.freeze(9_000)
    await clock.advance(5)
    expect(acquiring.value?.remaining()).toBe(10_000 - 102)
    expect(acquiring.value?.commands).toBe(2)
  })

  it('is enough if it leaves exactly as much as was asked for', async () => {
    store.next('acquire', replyAfter(88))
    const acquiring = follow(locks.acquire('k', options), clock)
    await clock.advance(88)
    expect(acquiring.value?.remaining()).toBe(900)
    expect(acquiring.value?.commands).toBe(1)
  })
})

describe('an acquire that the store refuses for good', () => {
  it('rejects at once with the error of the store, after one command', async () => {
    const error = new LeaseholdError('KIND_MISMATCH', 'The key holds something that is not a lock')
    store.always('acquire', refusing(error))
    await expect(locks.acquire('k')).rejects.toBe(error)
    await expect(locks.tryAcquire('k')).rejects.toBe(error)
    expect(store.called('acquire')).toHaveLength(2)
    expect(store.called('release')).toHaveLength(0)
    expect(clock.pending).toBe(0)
  })
})

describe('an acquire that is aborted', () => {
  const reason = { any: 'reason of the caller' }
  let caller: AbortController

  beforeEach(() => {
    caller = new AbortController()
  })

  it('beforehand rejects with the reason itself, and sends nothing', async () => {
    caller.abort(reason)
    const { signal } = caller
    await expect(locks.acquire('k', { signal })).rejects.toBe(reason)
    await expect(locks.tryAcquire('k', { signal })).rejects.toBe(reason)
    await expect(locks.withLock('k', () => expect.unreachable(), { signal })).rejects.toBe(reason)
    expect(store.calls).toEqual([])
  })

  it('during an attempt rejects with the reason itself, at once', async () => {
    store.always('acquire', requestLost)
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(200)
    caller.abort(reason)
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 200 })
    expect(acquiring.reason).toBe(reason)
  })

  it('between two tries rejects with the reason itself, at once', async () => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(2_345)
    caller.abort(reason)
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 2_345 })
    expect(acquiring.reason).toBe(reason)
    expect(clock.pending).toBe(0)
    const sent = store.calls.length
    await clock.advance(60_000)
    expect(store.calls).toHaveLength(sent)
  })

  it('between two attempts that failed at once rejects with the reason itself, at once', async () => {
    store.always('acquire', unavailable('no'))
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(5)
    caller.abort(reason)
    await clock.advance(0)
    expect(acquiring).toMatchObject({ state: 'rejected', atMs: 5 })
    expect(acquiring.reason).toBe(reason)
    expect(clock.pending).toBe(0)
  })

  it.each([null, 0, '', 'text', new Error('own')])('rejects with whatever the reason is: %j', async (own) => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(10)
    caller.abort(own)
    await clock.advance(0)
    expect(acquiring.state).toBe('rejected')
    expect(acquiring.reason).toBe(own)
  })

  it('without a reason rejects with the AbortError of the platform', async () => {
    await occupy()
    const acquiring = follow(locks.acquire('k', { signal: caller.signal }), clock)
    await clock.advance(10)
    caller.abort()
    await clock.advance(0)
    expect(acquiring.reason).toBe(caller.signal.reason)
    expect(acquiring.reason).toMatchObject({ name: 'AbortError' })
  })

  it('after it was granted keeps its lease: the signal ends waits only', async () => {
    const lease = await locks.acquire('k', { signal: caller.signal })
    caller.abort(reason)
    await clock.advance(30_000)
    expect(lease.remaining()).toBeGreaterThan(0)
    expect(lease.signal.aborted).toBe(false)
  })
})
