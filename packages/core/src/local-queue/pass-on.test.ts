import { callUntil, follow, ManualClock, ScriptedNotifier, ScriptedStore, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Lease, poll, type ReleaseResult } from '../index.ts'
import { memoryStore } from '../memory/index.ts'
import { offerPassOn } from '../store/offer-pass-on.ts'
import type { PassOnOutcome, PassOnRequest } from '../store/pass-on.ts'

const garbled = { type: 'unknown', executed: 'unknown' } as const
const never = callUntil(new AbortController().signal)

/** What happens to a request that passes the lock on. */
type Fate = 'answered' | 'request lost' | 'reply lost' | 'slow' | 'heard' | 'garbled' | 'foreign'

/** A locker over a store that passes locks on; the memory store behind it carries that out as two requests. */
function setUp() {
  const clock = new ManualClock()
  // The store's timers only free memory.
  const behind = memoryStore({
    clock: { monotonicMs: () => clock.monotonicMs(), wallMs: () => clock.wallMs(), schedule: () => () => undefined },
  })
  const store = new ScriptedStore(clock, behind)
  const passes: PassOnRequest[] = []
  const fates: Fate[] = []
  async function carryOut({ token, ...request }: PassOnRequest, fate: Fate): Promise<PassOnOutcome> {
    const [released] = await behind.release([{ key: request.key, token }], never)
    if (released?.type !== 'released') return { released: released as PassOnOutcome['released'], granted: undefined }
    if (fate === 'heard') return { released: { ...released, subscribers: 1 }, granted: undefined }
    const [granted] = await behind.acquire([request], never)
    if (granted?.type !== 'granted') throw new Error('The lock was not free')
    return { released: { ...released, subscribers: 0 }, granted }
  }
  offerPassOn(store, async (request) => {
    passes.push(request)
    const fate = fates.shift() ?? 'answered'
    if (fate === 'slow') await new Promise<void>((resolve) => clock.schedule(resolve, 80))
    const outcome = fate === 'request lost' ? undefined : await carryOut(request, fate)
    if (fate === 'garbled') return { released: garbled, granted: undefined }
    const token = `${'f'.repeat(32)}.1`
    if (fate === 'foreign') return { released: garbled, granted: { type: 'granted', token, fence: 1 } }
    return outcome && fate !== 'reply lost' ? outcome : new Promise(() => undefined)
  })
  return { ...testLocker({ clock, store, notifier: new ScriptedNotifier(), wait: '1m' }), clock, store, passes, fates }
}

let { locks, elsewhere, store, clock, events, passes, fates } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock, events, passes, fates } = setUp())
})

const calls = (name: 'acquire' | 'release'): number => store.called(name).length
const isHeld = async (): Promise<boolean> => (await elsewhere.inspect('k')).held

/** Does the work of `count` callers, one after the other, and returns their fences. */
async function work(count: number, heldMs = 0): Promise<readonly number[]> {
  const fences: number[] = []
  const turns = Array.from({ length: count }, () =>
    locks.withLock('k', async ({ fence }) => {
      fences.push(fence)
      if (heldMs) await new Promise<void>((resolve) => clock.schedule(resolve, heldMs))
    }),
  )
  const done = follow(Promise.all(turns), clock)
  while (done.state === 'pending') await clock.advance(heldMs)
  expect(done.state).toBe('fulfilled')
  return fences
}

/** A holder at the end of a run of hand-offs, and the calls that wait behind it. */
async function atTheEndOfARun(waiting: number, options: object = {}) {
  const first = await locks.acquire('k')
  const run = Array.from({ length: 16 }, () => locks.acquire('k'))
  const behind = Array.from({ length: waiting }, () => follow(locks.acquire('k', options), clock))
  await first.release()
  let last: Lease = first
  for (const turn of run) {
    last = await turn
    if (turn !== run.at(-1)) await last.release()
  }
  return { last, behind: behind as [(typeof behind)[0], ...typeof behind] }
}

/** Gives a lease back while the store is slow, and returns how that ended. */
async function givenBack(lease: Lease, meanwhile: () => unknown = () => undefined): Promise<ReleaseResult> {
  const released = lease.release()
  meanwhile()
  await clock.advance(80)
  const result = await released
  await clock.advance(0)
  return result
}

describe('at the end of a run of hand-offs', () => {
  it.each([
    ['seventeen leases that are held for a moment', 1, 17, 4],
    ['sixty-five leases that are given back at once', 0, 65, 4],
    ['as many leases as begin within 2 ms', 0.09, 24, 3],
  ])('the release brings the next waiter a grant: one request for each %s', async (_, heldMs, each, runs) => {
    const leases = 17 + each * (runs - 1)
    const fences = await work(leases, heldMs)
    expect({ acquires: calls('acquire'), passes: passes.length, releases: calls('release') }).toEqual({
      acquires: 1,
      passes: runs - 1,
      releases: 1,
    })
    expect(fences).toEqual([...fences].sort((one, other) => one - other))
    expect(new Set(fences).size).toBe(leases)
    expect(events.filter(({ type }) => type === 'released')).toHaveLength(leases)
    expect(await isHeld()).toBe(false)
  })

  it('the new grant counts from when the request was sent, and the lease knows what it cost', async () => {
    const { last, behind } = await atTheEndOfARun(1)
    fates.push('slow')
    await clock.advance(500)
    expect(await givenBack(last)).toBe('released')
    const lease = behind[0].value as Lease
    expect(lease.remaining()).toBe(10_000 - 102 - 80)
    expect(lease).toMatchObject({ waitedMs: 580, commands: 1 })
  })

  it('a grant with too little time left for the next waiter is asked for again', async () => {
    const { last, behind } = await atTheEndOfARun(1, { minValidity: 9_850 })
    fates.push('slow')
    await givenBack(last)
    expect(behind[0].value?.remaining()).toBe(10_000 - 102)
    expect(store.called('acquire').at(-1)?.requests).toMatchObject([{ acquisitionId: passes[0]?.acquisitionId }])
  })

  it('is told before the next lease begins', async () => {
    await work(18)
    const types = events.map(({ type }) => type).filter((type) => type === 'acquired' || type === 'released')
    expect(types).toEqual(Array.from({ length: 36 }, (_, at) => (at % 2 ? 'released' : 'acquired')))
  })

  it('a release that somebody hears leaves the lock free, with a head start', async () => {
    fates.push('heard')
    const { last, behind } = await atTheEndOfARun(1)
    await last.release()
    expect(await isHeld()).toBe(false)
    await clock.advance(1)
    expect(behind[0].state).toBe('pending')
    await clock.advance(1)
    expect(behind[0].state).toBe('fulfilled')
    expect(calls('acquire')).toBe(2)
  })

  it('the lock is really free once a second, for long enough that a waiter that polls gets its turn', async () => {
    const turns = Array.from({ length: 200 }, () =>
      locks.withLock('k', () => new Promise<void>((resolve) => clock.schedule(resolve, 10))),
    )
    const done = follow(Promise.all(turns), clock)
    const polling = follow(elsewhere.acquire('k', { wait: '1m', strategy: poll({ every: '5ms' }) }), clock)
    await clock.advance(950)
    expect(passes.length).toBeGreaterThan(3)
    expect({ polling: polling.state, free: calls('release') }).toEqual({ polling: 'pending', free: 0 })
    await clock.advance(100)
    expect(polling.state).toBe('fulfilled')
    await polling.value?.release()
    await clock.advance(4_000)
    expect(done.state).toBe('fulfilled')
  })

  it('nothing is passed on while one of ours competes, who came before those in line', async () => {
    const other = await elsewhere.acquire('k')
    const patient = follow(locks.acquire('k', { recheck: '1h', wait: '1h' }), clock)
    const turns = Promise.all(Array.from({ length: 18 }, () => locks.withLock('k', { recheck: '1s' }, () => undefined)))
    await clock.advance(10)
    await other.release()
    await clock.advance(3_000)
    await turns
    expect({ passes, patient: patient.state }).toEqual({ passes: [], patient: 'pending' })
  })

  it('nothing is passed on where nobody says who listens', async () => {
    const { locks: blind } = testLocker({ clock, store })
    const turns = Promise.all(
      Array.from({ length: 40 }, () => blind.withLock('other', { wait: '1m' }, () => undefined)),
    )
    await clock.advance(5_000)
    await turns
    expect(passes).toEqual([])
  })
})

describe('a waiter that leaves while the lock is passed on to it', () => {
  it('leaves the grant to the one behind it, who would have asked for the same', async () => {
    const stop = new AbortController()
    const { last } = await atTheEndOfARun(1, { signal: stop.signal })
    const second = follow(locks.acquire('k'), clock)
    fates.push('slow')
    await givenBack(last, () => stop.abort())
    expect({ second: second.state, acquires: calls('acquire') }).toEqual({ second: 'fulfilled', acquires: 1 })
    await second.value?.release()
    expect(await isHeld()).toBe(false)
  })

  it('has the one behind it, which wants another ttl, ask again and find the grant', async () => {
    const stop = new AbortController()
    const { last } = await atTheEndOfARun(1, { signal: stop.signal })
    const second = follow(locks.acquire('k', { ttl: '20s' }), clock)
    fates.push('slow')
    await givenBack(last, () => stop.abort())
    expect(second.value?.remaining()).toBeGreaterThan(10_000)
    expect(store.called('acquire').at(-1)?.requests).toMatchObject([{ acquisitionId: passes[0]?.acquisitionId }])
  })

  it('leaves the lock free if it was the last', async () => {
    const stop = new AbortController()
    const { last, behind } = await atTheEndOfARun(1, { signal: stop.signal })
    fates.push('slow')
    expect(await givenBack(last, () => stop.abort())).toBe('released')
    expect(behind[0].state).toBe('rejected')
    expect(await isHeld()).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('because its wait is over has nothing either, and leaves the lock free', async () => {
    const { last, behind } = await atTheEndOfARun(1, { wait: 50 })
    fates.push('slow')
    await givenBack(last)
    expect(behind[0].state).toBe('rejected')
    expect(await isHeld()).toBe(false)
  })

  it('because the locker is closed leaves the lock free', async () => {
    const { last, behind } = await atTheEndOfARun(2)
    fates.push('slow')
    const released = last.release()
    const closed = follow(locks.close(), clock)
    await clock.advance(80)
    await released
    await clock.advance(0)
    expect(behind.map(({ state }) => state)).toEqual(['rejected', 'rejected'])
    expect(closed.state).toBe('fulfilled')
    expect(await isHeld()).toBe(false)
  })
})

describe('without an answer', () => {
  it('to a request that was carried out, the next waiter finds its own grant, and nobody gets another', async () => {
    const { last, behind } = await atTheEndOfARun(2)
    fates.push('reply lost')
    const released = follow(last.release(), clock)
    await clock.advance(100)
    expect(behind.map(({ state }) => state)).toEqual(['fulfilled', 'pending'])
    const lease = behind[0].value as Lease
    expect((await elsewhere.inspect('k')) as object).toMatchObject({ held: true, fence: lease.fence })
    await clock.advance(1_000)
    expect(released.state).toBe('fulfilled')
    expect(released.value).toBe('released')
    expect(lease.signal.aborted).toBe(false)
    await lease.release()
    await clock.advance(0)
    expect(behind[1]?.state).toBe('fulfilled')
    await behind[1]?.value?.release()
    expect(await isHeld()).toBe(false)
  })

  it.each(['garbled', 'foreign'] as const)('but a %s one, the next waiter finds its own grant', async (fate) => {
    const { last, behind } = await atTheEndOfARun(1)
    fates.push(fate)
    const released = follow(last.release(), clock)
    await clock.advance(300)
    expect({ released: released.value, next: behind[0].state }).toEqual({ released: 'released', next: 'fulfilled' })
    await behind[0].value?.release()
    expect(await isHeld()).toBe(false)
  })

  it('and with the lock granted to another call of ours meanwhile, what may have been granted is undone', async () => {
    const { last } = await atTheEndOfARun(1)
    fates.push('request lost')
    const released = follow(last.release(), clock)
    await elsewhere.revoke('k')
    const turn = await locks.tryAcquire('k')
    expect(turn).not.toBeNull()
    await clock.advance(2_000)
    expect(released.state).toBe('fulfilled')
    const undone = store.called('release').filter(({ requests }) => 'acquisitionId' in (requests[0] ?? {}))
    expect(undone.length).toBeGreaterThan(0)
  })

  it('to a request that was lost, the release is repeated, and the next waiter acquires', async () => {
    const { last, behind } = await atTheEndOfARun(1)
    fates.push('request lost')
    const released = follow(last.release(), clock)
    await clock.advance(1_000)
    expect(released.value).toBe('released')
    await clock.advance(100)
    const lease = behind[0].value as Lease
    await lease.release()
    expect(await isHeld()).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('and without a waiter that is left, what may have been granted is undone', async () => {
    for (const fate of ['reply lost', 'request lost'] as const) {
      const stop = new AbortController()
      const { last } = await atTheEndOfARun(1, { signal: stop.signal })
      fates.push(fate)
      const released = follow(last.release(), clock)
      stop.abort()
      await clock.advance(4_000)
      expect(released.state).toBe('fulfilled')
      expect(await isHeld()).toBe(false)
      expect(clock.pending).toBe(0)
    }
  })
})

describe('a lease that was revoked', () => {
  it('passes nothing on: its holder is told, and the next waiter acquires', async () => {
    const { last, behind } = await atTheEndOfARun(1)
    await elsewhere.revoke('k')
    expect(await last.release()).toBe('expired')
    await clock.advance(20)
    await behind[0].value?.release()
    expect(calls('acquire')).toBe(2)
  })
})
