import { follow, ManualClock, replyAfter, replyLost, requestLost, ScriptedStore, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { detach } from '../hand-over/index.ts'
import { createLocker, type Locker } from '../index.ts'
import { memoryNotifier, memoryStore } from '../memory/index.ts'
import { type PermitLease, type PermitOptions, type Semaphore, semaphore } from './index.ts'

const setUp = () => {
  const clock = new ManualClock()
  // The real store's timers only free memory.
  const timeless = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    schedule: () => () => undefined,
  }
  const behind = memoryStore({ clock: timeless })
  const store = new ScriptedStore(clock, behind)
  const made = testLocker({ clock, store, name: 'here', notifier: memoryNotifier(behind) })
  // Another process, which is told of its turns, too.
  const elsewhere = createLocker({ clock, store, name: 'there', notifier: memoryNotifier(behind) })
  return {
    ...made,
    elsewhere,
    pool: semaphore(made.locks, 'pool', { permits: 4 }),
    other: semaphore(elsewhere, 'pool', { permits: 4 }),
  }
}
let { locks, elsewhere, clock, store, events, pool, other } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, clock, store, events, pool, other } = setUp())
})

/** Takes permits that are free. */
async function taken(options?: PermitOptions, by: Semaphore = pool): Promise<PermitLease> {
  const acquiring = follow(by.acquire(options), clock)
  await clock.advance(0)
  expect(acquiring.state).toBe('fulfilled')
  return acquiring.value as PermitLease
}

const waiting = async (options?: PermitOptions, by: Semaphore = other) => {
  const acquiring = follow(by.acquire(options), clock)
  await clock.advance(50)
  expect(acquiring.state).toBe('pending')
  return acquiring
}

describe('the permits of a semaphore', () => {
  it('are held by as many as there are; the next waits until one comes back', async () => {
    const leases = [await taken(), await taken(), await taken({}, other), await taken()]
    const next = await waiting()
    expect(await pool.inspect()).toMatchObject({ permits: 4, available: 0, waiting: 1, waiters: [{ permits: 1 }] })
    await leases[1]?.release()
    await clock.advance(50)
    expect(next.state).toBe('fulfilled')
    expect(await pool.inspect()).toMatchObject({ available: 0, waiting: 0 })
  })

  it('come one by one or several at once, as one lease with one fence', async () => {
    const [one, three] = [await taken(), await taken({ permits: 3 })]
    expect([one.permits, three.permits]).toEqual([1, 3])
    expect(three.fence).toBeGreaterThan(one.fence)
    expect(await pool.inspect()).toMatchObject({
      available: 0,
      holders: expect.arrayContaining([
        { holder: 'here', fence: one.fence, permits: 1, expiresInMs: expect.any(Number) },
        { holder: 'here', fence: three.fence, permits: 3, expiresInMs: expect.any(Number) },
      ]),
    })
    expect(await three.release()).toBe('released')
    expect(await pool.inspect()).toMatchObject({ available: 3 })
  })

  it('are taken all or none, and no later call is served before one that they do not suffice for', async () => {
    const two = await taken({ permits: 2 })
    const large = await waiting({ permits: 3 })
    const small = await waiting({ permits: 1 }, pool)
    expect(await pool.tryAcquire()).toBeNull()
    expect(await pool.inspect()).toMatchObject({ available: 2, holders: [{ permits: 2 }], waiting: 2 })
    await two.release()
    await clock.advance(50)
    expect([large.state, small.state]).toEqual(['fulfilled', 'fulfilled'])
  })

  it('expire each by its own ttl, and then are free', async () => {
    const brief = await taken({ permits: 3, ttl: '1s', renew: false })
    const long = await taken()
    const next = await waiting({ permits: 2, wait: '5s' })
    await clock.advance(1_500)
    expect(next.state).toBe('fulfilled')
    expect(brief.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'expired' })
    long.assertValid()
    expect(await brief.release()).toBe('expired')
    expect(await pool.inspect()).toMatchObject({ available: 1 })
  })

  it('are renewed together, as long as they are held', async () => {
    const leases = [await taken(), await taken({ permits: 2 })]
    await clock.advance(60_000)
    for (const lease of leases) lease.assertValid()
    expect(await other.inspect()).toMatchObject({ available: 1 })
    await Promise.all(leases.map((lease) => lease.release()))
    expect(clock.pending).toBe(0)
  })

  it('come back in one command if they are released in one turn', async () => {
    const leases = [await taken(), await taken(), await taken({ permits: 2 })]
    expect(await Promise.all(leases.map((lease) => lease.release()))).toEqual(['released', 'released', 'released'])
    expect(store.called('queue.release').map(({ requests }) => requests.length)).toEqual([3])
  })

  it('are lost when renewals stay unanswered', async () => {
    const lease = await taken({ permits: 2 })
    store.always('queue.renew', requestLost)
    await clock.advance(11_000)
    expect(lease.signal.reason).toMatchObject({ reason: 'unreachable' })
    expect(events.map(({ type }) => type)).toContain('lost')
  })

  it('are given back after work, whatever becomes of it', async () => {
    const failing = pool.withPermit({ permits: 2 }, ({ permits }) => {
      throw new Error(`had ${permits}`)
    })
    await expect(failing).rejects.toThrow('had 2')
    expect(await pool.withPermit(({ permits }) => permits)).toBe(1)
    expect(await pool.inspect()).toMatchObject({ available: 4 })
    await expect(pool.withPermit({}, undefined as never)).rejects.toMatchObject({ option: 'work' })
  })
})

describe('a wait for permits, and a lease', () => {
  it('ends at its time, by abort, by close, and leaves nothing', async () => {
    const all = await taken({ permits: 4 })
    const caller = new AbortController()
    const timed = await waiting({ wait: '1s' })
    const aborted = await waiting({ signal: caller.signal })
    const closed = await waiting({}, pool)
    caller.abort(new Error('enough'))
    void locks.close({ grace: '1h' })
    await clock.advance(1_000)
    expect(timed.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', holder: 'here' })
    expect(aborted.reason).toMatchObject({ message: 'enough' })
    expect(closed.reason).toMatchObject({ code: 'CLOSED' })
    expect(await other.inspect()).toMatchObject({ waiting: 0 })
    await all.release()
    await clock.advance(0)
    expect(await other.tryAcquire({ permits: 4, renew: false })).not.toBeNull()
  })

  it('outlives the locker that is closed no longer than its grace', async () => {
    const lease = await taken({ permits: 3 })
    const closing = follow(locks.close({ grace: '2s' }), clock)
    await clock.advance(1_900)
    lease.assertValid()
    await clock.advance(1_000)
    expect(closing.state).toBe('fulfilled')
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'closed' })
    expect(await other.inspect()).toMatchObject({ available: 4 })
    await expect(pool.acquire()).rejects.toMatchObject({ code: 'CLOSED' })
    await expect(pool.inspect()).rejects.toMatchObject({ code: 'CLOSED' })
    await expect(pool.resize(5)).rejects.toMatchObject({ code: 'CLOSED' })
  })

  it('keeps to its budget where it polls', async () => {
    await taken({ permits: 4 })
    const polling = semaphore(createLocker({ store, clock }), 'pool', { permits: 4 })
    const acquiring = await waiting({ wait: '1h', budget: 5 }, polling)
    await clock.advance(120_000)
    expect(acquiring.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', commands: 5 })
  })

  it('tells a store that does not answer from permits that are taken', async () => {
    store.always('queue.acquire', requestLost)
    const acquiring = follow(pool.acquire({ wait: '3s' }), clock)
    await clock.advance(3_000)
    expect(acquiring.reason).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})

describe('a store that loses requests and answers', () => {
  it('grants once to an acquire that it is asked twice', async () => {
    store.next('queue.acquire', replyLost)
    const acquiring = follow(pool.acquire({ permits: 3 }), clock)
    await clock.advance(2_000)
    expect(acquiring.value).toMatchObject({ permits: 3, commands: 2 })
    expect(await pool.inspect()).toMatchObject({ available: 1, holders: [{ permits: 3 }] })
  })

  it('gets back what it grants to a call that has given up', async () => {
    const caller = new AbortController()
    store.next('queue.acquire', replyAfter(300))
    const acquiring = follow(pool.acquire({ permits: 3, signal: caller.signal }), clock)
    await clock.advance(100)
    caller.abort('enough')
    await clock.advance(3_000)
    expect(acquiring.reason).toBe('enough')
    expect(await pool.inspect()).toMatchObject({ available: 4, holders: [], waiting: 0 })
    expect(clock.pending).toBe(0)
  })

  it('says whether permits came back, and frees them by their ttl if nobody knows', async () => {
    const lease = await taken({ permits: 3, ttl: '6s' })
    store.always('queue.release', requestLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(2_000)
    expect(releasing.value).toBe('unknown')
    expect(await other.inspect()).toMatchObject({ available: 1 })
    await clock.advance(4_000)
    expect(await other.inspect()).toMatchObject({ available: 4 })
  })

  it('is asked once to resize, and says if it may have done so', async () => {
    await taken()
    store.next('queue.resize', replyLost)
    const resizing = follow(pool.resize(6), clock)
    await clock.advance(2_000)
    expect(resizing.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    expect(store.called('queue.resize')).toHaveLength(1)
    await pool.resize(6)
    expect(await pool.inspect()).toMatchObject({ permits: 6, available: 5 })
  })
})

describe('the number of permits', () => {
  it('is the same for everybody: another is refused, and the error says both', async () => {
    await taken()
    const six = semaphore(elsewhere, 'pool', { permits: 6 })
    await expect(six.acquire()).rejects.toMatchObject({
      code: 'KIND_MISMATCH',
      key: 'pool',
      message: expect.stringMatching(/4 permits, not 6/),
    })
    await expect(six.tryAcquire()).rejects.toMatchObject({ code: 'KIND_MISMATCH' })
    expect(await six.inspect()).toMatchObject({ permits: 4, available: 3 })
  })

  it('is free to be another once nobody holds or waits', async () => {
    await (await taken()).release()
    expect(await semaphore(elsewhere, 'pool', { permits: 6 }).tryAcquire({ permits: 6 })).not.toBeNull()
  })

  it('grows, and who waits is served', async () => {
    await taken({ permits: 4 })
    const next = await waiting({ permits: 2 })
    await pool.resize(6)
    await clock.advance(50)
    expect(next.state).toBe('fulfilled')
    await expect(other.acquire()).rejects.toMatchObject({ code: 'KIND_MISMATCH' })
    await other.resize(6)
    expect(await other.tryAcquire()).toBeNull()
  })

  it('shrinks below what is held: nobody loses a permit, and nobody gets one until enough came back', async () => {
    const [three, one] = [await taken({ permits: 3 }), await taken()]
    await pool.resize(2)
    expect(await pool.inspect()).toMatchObject({ permits: 2, available: 0, holders: [{}, {}] })
    await one.release()
    expect(await pool.tryAcquire()).toBeNull()
    await clock.advance(30_000)
    three.assertValid()
    await three.release()
    expect(await pool.tryAcquire({ permits: 2 })).not.toBeNull()
  })
})

describe('a key that is another kind of lock', () => {
  const mismatch = { code: 'KIND_MISMATCH', key: 'pool' }

  it('is refused by name, both ways', async () => {
    const plain = await locks.acquire('pool')
    await expect(pool.acquire()).rejects.toMatchObject(mismatch)
    await expect(pool.tryAcquire()).rejects.toMatchObject(mismatch)
    await expect(pool.inspect()).rejects.toMatchObject(mismatch)
    await expect(pool.resize(3)).rejects.toMatchObject(mismatch)
    await plain.release()
    await taken()
    await expect(locks.acquire('pool')).rejects.toMatchObject(mismatch)
    await expect(locks.inspect('pool')).rejects.toMatchObject(mismatch)
  })
})

describe('what is refused by name before anything is sent', () => {
  const refused = (option: string) => ({ code: 'INVALID_OPTION', option })

  it.each([0, -1, 1.5, Number.NaN, 5, 1e9])('%s permits of 4', async (permits) => {
    await expect(pool.acquire({ permits })).rejects.toMatchObject(refused('permits'))
    await expect(pool.tryAcquire({ permits })).rejects.toMatchObject(refused('permits'))
    await expect(pool.withPermit({ permits }, () => 0)).rejects.toMatchObject(refused('permits'))
    expect(store.calls).toEqual([])
  })

  it.each([0, -1, 1.5, 1_000_001, undefined])('a semaphore of %s permits', async (permits) => {
    expect(() => semaphore(locks, 'pool', { permits: permits as number })).toThrow(/permits/)
    await expect(pool.resize(permits as number)).rejects.toMatchObject(refused('permits'))
    expect(store.calls).toEqual([])
  })

  it('what is for exclusive locks alone, unknown, or no locker of a store with queues', async () => {
    const watchdog = { minTtlMs: 1, watchFor: () => ({}) } as never
    await expect(pool.acquire({ renew: watchdog })).rejects.toMatchObject(refused('renew'))
    await expect(pool.acquire({ permit: 2 } as never)).rejects.toMatchObject(refused('permit'))
    await expect(pool.acquire(2 as never)).rejects.toMatchObject(refused('options'))
    expect(() => semaphore(locks, 'pool', { permits: 2, wait: 1 } as never)).toThrow(/"wait"/)
    expect(() => semaphore(locks, '', { permits: 2 })).toThrow(/"key"/)
    expect(() => semaphore({} as Locker, 'pool', { permits: 2 })).toThrow(/"locks"/)
    const queueless = createLocker({ store: Object.create(memoryStore()) })
    expect(() => semaphore(queueless, 'pool', { permits: 2 })).toThrow(/"locks"/)
  })

  it('to detach permits', async () => {
    const lease = await taken()
    await expect(detach(lease, { ttl: '1m' })).rejects.toMatchObject(refused('lease'))
    lease.assertValid()
  })
})
