import {
  callUntil,
  follow,
  replyAfter,
  requestLost,
  ScriptedNotifier,
  testLocker,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { type AcquireOptions, createLocker, type Duration, type Lease, type Locker, poll } from '../index.ts'
import { sleep } from '../timing/deadline.ts'

let { locks, store, clock, events, elsewhere: others } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, events, elsewhere: others } = testLocker())
})

/** How long the default ttl of 10 s may be trusted, from when it was sent. */
const validMs = 10_000 - 102

const { signal: unstopped } = new AbortController()

/** Whether a lock is held, by asking the store directly. */
async function held(key: string): Promise<boolean> {
  const outcome = await store.inspect(key, callUntil(unstopped))
  return outcome.type === 'state' && outcome.state.held
}

const calls = (method: string): number => store.calls.filter((call) => call.name === method).length

/** Acquires, and notes in `order` who got the lock when. */
function queueUp(order: string[], name: string, options: object = {}): Promise<Lease> {
  return locks.acquire('k', options).then((lease) => {
    order.push(name)
    return lease
  })
}

describe('waiters of one process', () => {
  it('wait without any command while this process holds the lock, and are served in order', async () => {
    const holder = await locks.acquire('k')
    const order: string[] = []
    const waiting = Array.from({ length: 10 }, (_, index) => queueUp(order, `w${index}`, { wait: '1h' }))
    await clock.advance(2_000)
    expect(calls('acquire')).toBe(1)
    await holder.release()
    for (const each of waiting) await (await each).release()
    expect(order).toEqual(Array.from({ length: 10 }, (_, index) => `w${index}`))
    expect(calls('acquire')).toBe(1)
    expect(calls('release')).toBe(1)
  })

  it('have leases of their own: fences rise, signals and figures are each one’s, and the old lease refuses every call', async () => {
    const first = await locks.acquire('k')
    const { signal } = first
    const second = locks.acquire('k')
    await clock.advance(50)
    expect(await first.release()).toBe('released')
    const lease = await second
    expect(lease.fence).toBe((first.fence as number) + 1)
    expect(lease.commands).toBe(0)
    expect(lease.waitedMs).toBe(50)
    expect(lease.remaining()).toBeGreaterThan(9_000)
    expect(first.remaining()).toBe(0)
    expect(() => first.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_RELEASED' }))
    await expect(first.renew({ ttl: '1s' })).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
    expect(await first.release()).toBe('released')
    expect(await locks.inspect('k')).toMatchObject({ held: true, fence: first.fence })

    await others.revoke('k')
    await clock.advance(4_000)
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    expect(signal.aborted).toBe(false)
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'contended', 'wanted', 'released', 'acquired', 'lost'])
  })

  it('the fence of the next grant of the store is above all that were handed off', async () => {
    locks = createLocker({ store, clock, notifier: new ScriptedNotifier() })
    const fences: number[] = []
    const work = (): Promise<unknown> =>
      locks.withLock('k', { wait: '1h' }, ({ fence }) => fences.push(fence as number))
    await Promise.all(Array.from({ length: 100 }, work))
    await others.withLock('k', ({ fence }) => fences.push(fence as number))
    expect(fences).toHaveLength(101)
    expect(fences).toEqual([...fences].sort((one, other) => one - other))
    expect(new Set(fences).size).toBe(101)
  })

  it('pass a grant on at most sixteen times in a row before it goes back to the store', async () => {
    locks = createLocker({ store, clock, notifier: new ScriptedNotifier() })
    await Promise.all(Array.from({ length: 34 }, () => locks.withLock('k', { wait: '1h' }, () => undefined)))
    expect(calls('acquire')).toBe(2)
    expect(calls('release')).toBe(2)
  })

  it('hand a grant off for at most a second, counted from its first hand-off', async () => {
    locks = createLocker({ store, clock, notifier: new ScriptedNotifier() })
    const holder = await locks.acquire('k')
    const second = locks.acquire('k')
    const third = locks.acquire('k')
    await clock.advance(2_000)
    await holder.release()
    await second
    expect(calls('acquire')).toBe(1)
    await clock.advance(1_000)
    await (await second).release()
    await (await third).release()
    expect(calls('acquire')).toBe(2)
  })

  it('do not get a grant whose token left the process, that has too little time left, or that they would not renew', async () => {
    const shown = await locks.acquire('k')
    expect(shown.token).not.toBe('')
    const afterShown = locks.acquire('k')
    await shown.release()
    await (await afterShown).release()
    expect(calls('acquire')).toBe(2)

    const short = await locks.acquire('short', { ttl: '1s' })
    const long = locks.acquire('short', { ttl: '10s' })
    await short.release()
    expect((await long).remaining()).toBeGreaterThan(9_000)
    await (await long).release()

    const renewed = await locks.acquire('plain')
    const plain = locks.acquire('plain', { renew: false, ttl: '5s' })
    await renewed.release()
    expect((await plain).remaining()).toBeLessThanOrEqual(5_000)
    expect(calls('acquire')).toBe(6)
  })

  it('go on to the next one when one gives up in line', async () => {
    const holder = await locks.acquire('k')
    const leaving = new AbortController()
    const impatient = locks.acquire('k', { wait: 100 })
    const aborted = locks.acquire('k', { signal: leaving.signal })
    const patient = locks.acquire('k')
    const ended = Promise.allSettled([impatient, aborted])
    leaving.abort(new Error('the caller left'))
    await clock.advance(200)
    expect(await ended).toMatchObject([
      { status: 'rejected', reason: { code: 'ACQUIRE_TIMEOUT', commands: 0 } },
      { status: 'rejected', reason: { message: 'the caller left' } },
    ])
    await holder.release()
    await (await patient).release()
  })

  it('compete one at a time on the store, and the next one does when that one gives up', async () => {
    const elsewhere = await others.acquire('k', { ttl: '1h' })
    store.calls.length = 0
    const first = locks.acquire('k', { wait: '2s' }).catch((error: unknown) => error)
    const second = locks.acquire('k', { wait: '1m' })
    await clock.advance(1_900)
    const tries = calls('acquire')
    expect(tries).toBeLessThan(12)
    await clock.advance(200)
    expect(await first).toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
    await elsewhere.release()
    await clock.advance(2_000)
    await (await second).release()
  })

  it('say that the lock was busy if the one they queued behind was told so, and that the store is away otherwise', async () => {
    store.always('acquire', unavailable('no'))
    const first = locks.acquire('away', { wait: '5s' }).catch((error: unknown) => error)
    const second = locks.acquire('away', { wait: '1s' }).catch((error: unknown) => error)
    await clock.advance(6_000)
    expect(await second).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await first).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  it('wake up when the holder’s lease is lost', async () => {
    const holder = await locks.acquire('k')
    const waiting = locks.acquire('k', { wait: '1h' })
    await others.revoke('k')
    await clock.advance(5_000)
    expect(holder.signal.aborted).toBe(true)
    await (await waiting).release()
  })

  it('learn at once of a revocation by their own locker', async () => {
    const holder = await locks.acquire('k')
    const waiting = locks.acquire('k')
    expect(await locks.revoke('k')).toBe(true)
    expect(holder.signal.reason).toMatchObject({ reason: 'gone' })
    await (await waiting).release()
  })

  it('without a wait the store is always asked', async () => {
    const holder = await locks.acquire('k')
    expect(await locks.tryAcquire('k')).toBeNull()
    await expect(locks.acquire('k', { wait: 0 })).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT', commands: 1 })
    expect(calls('acquire')).toBe(3)
    await holder.release()
  })

  it('a lease that was handed off is renewed, to the ttl of its new holder', async () => {
    const holder = await locks.acquire('k', { ttl: '10s' })
    const next = locks.acquire('k', { ttl: '18s' })
    await holder.release()
    const lease = await next
    await clock.advance(60_000)
    expect(lease.remaining()).toBeGreaterThan(10_000)
    await lease.release()
  })

  it('maxHold counts from each one’s own beginning', async () => {
    const holder = await locks.acquire('k', { maxHold: '2s' })
    const next = locks.acquire('k', { maxHold: '2s' })
    await clock.advance(900)
    await holder.release()
    const lease = await next
    await clock.advance(1_900)
    expect(lease.signal.aborted).toBe(false)
    await clock.advance(200)
    expect(lease.signal.reason).toMatchObject({ reason: 'max-hold' })
  })

  it('closing while a grant is on its way takes it away', async () => {
    const holder = await locks.acquire('k')
    const next = locks.acquire('k')
    const released = holder.release()
    const closing = locks.close({ grace: 0 })
    await clock.advance(10)
    await released
    await closing
    const outcome = await next.then(
      (lease) => lease.signal.reason,
      (error: unknown) => error,
    )
    expect(outcome).toMatchObject({ code: 'LEASE_LOST', reason: 'closed' })
    expect(await others.isLocked('k')).toBe(false)
  })

  it('nothing is left when 10,000 waiters on 100 keys are aborted', async () => {
    const holders = await Promise.all(Array.from({ length: 100 }, (_, key) => locks.acquire(`k${key}`)))
    const leaving = new AbortController()
    const waits = Array.from({ length: 10_000 }, (_, index) =>
      locks.acquire(`k${index % 100}`, { signal: leaving.signal, wait: '1h' }),
    )
    const ended = Promise.allSettled(waits)
    leaving.abort(new Error('all leave'))
    expect((await ended).every(({ status }) => status === 'rejected')).toBe(true)
    await Promise.all(holders.map((holder) => holder.release()))
    expect(clock.timers.filter(({ background }) => !background)).toEqual([])
  })

  it('who gave up get nothing, though the lease is given back in the same breath', async () => {
    const lease = await locks.acquire('k')
    const stop = new AbortController()
    const first = follow(locks.acquire('k', { signal: stop.signal }), clock)
    const second = follow(locks.acquire('k'), clock)
    await clock.advance(0)
    stop.abort('gave up')
    void lease.release()
    await clock.advance(0)
    expect(first).toMatchObject({ state: 'rejected', reason: 'gave up' })
    expect(second.state).toBe('fulfilled')
    await second.value?.release()
    await clock.advance(0)
    expect(await held('k')).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('leave either a lease or a free lock, whichever step their abort comes at', async () => {
    for (let at = 0; at < 40; at++) {
      const steps = Math.trunc(at / 2)
      const lease = await locks.acquire('k')
      const stop = new AbortController()
      const waiting = follow(locks.acquire('k', { signal: stop.signal }), clock)
      await clock.advance(0)
      const acts = [() => void lease.release(), () => stop.abort('stop')]
      if (at % 2) acts.reverse()
      acts[0]?.()
      for (let step = 0; step < steps; step++) await Promise.resolve()
      acts[1]?.()
      await clock.advance(0)
      if (waiting.state === 'fulfilled') await waiting.value?.release()
      await clock.advance(10_000)
      expect(await held('k'), `${steps} steps`).toBe(false)
      expect(clock.pending, `${steps} steps`).toBe(0)
    }
  })

  it('do not trust a renewal that was under way at the hand-off for longer than it asked for', async () => {
    const lease = await locks.acquire('k', { ttl: '10s' })
    const waiting = follow(locks.acquire('k', { ttl: '12s' }), clock)
    store.next('renew', replyAfter(900))
    store.always('renew', requestLost)
    while (store.called('renew').length === 0) await clock.advance(10)
    const [sent] = store.called('renew')
    await lease.release()
    await clock.advance(1_000)
    expect(waiting.state).toBe('fulfilled')
    await clock.advance((sent?.atMs ?? 0) + validMs + 1 - clock.monotonicMs())
    expect(waiting.value?.remaining()).toBe(0)
    expect(await held('k')).toBe(true)
  })

  it('do not renew twice at once after a hand-off', async () => {
    const lease = await locks.acquire('k', { ttl: '10s' })
    const waiting = follow(locks.acquire('k', { ttl: '5s' }), clock)
    store.always('renew', replyAfter(900))
    while (store.called('renew').length === 0) await clock.advance(10)
    await lease.release()
    await clock.advance(880)
    expect(waiting.state).toBe('fulfilled')
    expect(store.mostAtOnce('renew')).toBe(1)
  })
})

describe('a line with somebody ahead of it', () => {
  it('does not wait behind one who hardly ever checks', async () => {
    const elsewhere = await others.acquire('k', { ttl: '1h', renew: false })
    const slow = follow(locks.acquire('k', { wait: '1h', strategy: poll({ every: '40s' }) }), clock)
    const waiting = Array.from({ length: 5 }, () => follow(locks.acquire('k', { wait: '1m' }), clock))
    await clock.advance(5_000)
    await elsewhere.release()
    for (const each of waiting) {
      while (each.state === 'pending') await clock.advance(100)
      await each.value?.release()
    }
    expect(clock.monotonicMs()).toBeLessThan(5_000 + 5 * 1_100)
    expect(slow.state).toBe('pending')
    await clock.advance(60_000)
    await slow.value?.release()
  })

  it('still has one of those who check alike compete for all of them', async () => {
    await others.acquire('k', { ttl: '1h', renew: false })
    const stop = new AbortController()
    const acquire = (every: Duration) =>
      locks.acquire('k', { wait: '1h', signal: stop.signal, strategy: poll({ every }) }).catch(() => undefined)
    const all = [acquire('10s'), ...Array.from({ length: 50 }, () => acquire('1s'))]
    store.calls.length = 0
    await clock.advance(20_000)
    // One that polls every 10 s, and one that polls every second.
    expect(calls('acquire')).toBeGreaterThanOrEqual(15)
    expect(calls('acquire')).toBeLessThanOrEqual(45)
    stop.abort()
    await Promise.all(all)
  })

  it('has few compete, however many different ways to wait there are', async () => {
    await others.acquire('k', { ttl: '1h', renew: false })
    const stop = new AbortController()
    const all = Array.from({ length: 200 }, (_, at) => {
      const strategy = poll({ every: 1_000 - at })
      return locks.acquire('k', { wait: '1h', signal: stop.signal, strategy }).catch(() => undefined)
    })
    store.calls.length = 0
    await clock.advance(10_000)
    // A single one of them would try about 10 times.
    expect(calls('acquire')).toBeLessThan(40)
    stop.abort()
    await Promise.all(all)
  })

  it('has one of those compete whom grants reach too late, and no more', async () => {
    store.always('acquire', replyAfter(400))
    const stop = new AbortController()
    const all = Array.from({ length: 100 }, () =>
      locks.acquire('k', { minValidity: '9.6s', wait: '1h', signal: stop.signal }).catch(() => undefined),
    )
    await clock.advance(20_000)
    expect(store.mostAtOnce('acquire')).toBeLessThanOrEqual(2)
    stop.abort()
    await clock.advance(30_000)
    await Promise.all(all)
  })

  it('serves one who came first and hardly ever checks, when a run of hand-offs ends', async () => {
    const elsewhere = await others.acquire('k', { ttl: '1h', renew: false })
    const slow = follow(locks.acquire('k', { wait: '1m', strategy: poll({ every: '20s' }) }), clock)
    await clock.advance(10)
    const stop = new AbortController()
    const works = Array.from({ length: 10 }, async () => {
      while (!stop.signal.aborted) {
        const lease = await locks.acquire('k', { wait: '1m' })
        await sleep(clock, 10)
        await lease.release()
      }
    })
    await elsewhere.release()
    await clock.advance(3_000)
    expect(slow.state).toBe('fulfilled')
    stop.abort()
    await slow.value?.release()
    await clock.advance(60_000)
    await Promise.all(works)
  })

  it('does not wait behind one whom every grant reaches too late', async () => {
    store.always('acquire', replyAfter(400))
    const fussy = follow(locks.acquire('k', { ttl: '10s', minValidity: '9.6s', wait: '30s' }), clock)
    await clock.advance(10)
    const waiting = follow(locks.acquire('k', { wait: '30s' }), clock)
    await clock.advance(10_000)
    expect(waiting.state).toBe('fulfilled')
    expect(fussy.state).toBe('pending')
    await waiting.value?.release()
    await clock.advance(40_000)
  })

  it('does not overtake the one who competes, when another call of the process gets the lock meanwhile', async () => {
    const elsewhere = await others.acquire('k', { ttl: '1h', renew: false })
    const order: string[] = []
    const competing = queueUp(order, 'first', { wait: '1h', strategy: { delayMs: () => 1_000 } })
    await clock.advance(10)
    const inLine = queueUp(order, 'second', { wait: '1h' })
    await elsewhere.release()
    const passing = await locks.tryAcquire('k')
    await passing?.release()
    await clock.advance(2_000)
    await (await competing).release()
    await (await inLine).release()
    expect(order).toEqual(['first', 'second'])
  })

  it('a late answer to a revocation does not touch the lease that came after', async () => {
    const first = await locks.acquire('k')
    store.next('revoke', replyAfter(500))
    const revoking = locks.revoke('k')
    await first.release()
    const second = await locks.acquire('k', { wait: 0 })
    await clock.advance(1_000)
    expect(await revoking).toBe(true)
    second.assertValid()
    await second.release()
  })
})

describe('the head start of others after a run of hand-offs', () => {
  /** Ends a run of hand-offs while calls with the options in `next` wait in line. */
  async function afterRun(wait: (options?: AcquireOptions) => void, ...next: AcquireOptions[]): Promise<void> {
    let lease = await locks.acquire('k')
    for (let handOff = 0; handOff < 16; handOff++) {
      const following = locks.acquire('k')
      await lease.release()
      lease = await following
    }
    for (const options of next) wait(options)
    await clock.advance(0)
    await lease.release()
  }
  const failing = { delayMs: (contended: number) => contended - 20 }

  it('holds up nobody for longer than that one would have paused', async () => {
    const waiting: ReturnType<typeof follow<Lease>>[] = []
    const wait = (options?: AcquireOptions): void => void waiting.push(follow(locks.acquire('k', options), clock))
    await afterRun(wait, { wait: '2m', strategy: poll({ every: '40s' }) }, { strategy: poll({ every: 50 }) })
    await clock.advance(100)
    expect(waiting.map(({ state }) => state)).toEqual(['pending', 'fulfilled'])
    await waiting[1]?.value?.release()
    await clock.advance(2 * 60_000)
    await waiting[0]?.value?.release()
  })

  it('is no reason to believe that the store is away', async () => {
    await afterRun(() => void locks.acquire('k', { wait: '1h' }).then((lease) => lease.release()), {})
    const brief = follow(locks.acquire('k', { wait: 1 }), clock)
    await clock.advance(1)
    expect(brief.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', commands: 0 })
    await clock.advance(1_000)
  })

  it('ends with the locker', async () => {
    const waiting: ReturnType<typeof follow<Lease>>[] = []
    const wait = (options?: AcquireOptions): void => void waiting.push(follow(locks.acquire('k', options), clock))
    await afterRun(wait, { wait: '1h', strategy: poll({ every: '30m' }) })
    await locks.close()
    expect(waiting[0]?.reason).toMatchObject({ code: 'CLOSED' })
    expect(clock.pending).toBe(0)
  })

  it('and a strategy that fails hurt its own caller only', async () => {
    const waiting: ReturnType<typeof follow<Lease>>[] = []
    const wait = (options?: AcquireOptions): void => void waiting.push(follow(locks.acquire('k', options), clock))
    await afterRun(wait, { wait: '1m', strategy: failing }, { wait: '1m' })
    await clock.advance(2_000)
    expect(waiting.map(({ state }) => state)).toContain('fulfilled')
    for (const { value } of waiting) await value?.release()
    await clock.advance(60_000)
    for (const { value } of waiting) await value?.release()
    expect(await others.isLocked('k')).toBe(false)
  })
})

describe('a strategy of one’s own', () => {
  it('that fails for contended or a jitter it never has still serves its caller', async () => {
    const pauses = [10, 20, 50]
    const byJitter = { delayMs: (_: number, jitter: number) => pauses[Math.floor(jitter * pauses.length)] as number }
    const byRefusals = { delayMs: (contended: number) => pauses[contended - 1] as number }
    for (const strategy of [byJitter, byRefusals]) {
      const lease = await locks.acquire('k', { strategy })
      const next = follow(locks.acquire('k', { strategy }), clock)
      await lease.release()
      await clock.advance(100)
      await next.value?.release()
    }
  })
})

describe('a wait in line', () => {
  it('that nobody ever saw a holder in says that it sent nothing', async () => {
    store.always('acquire', requestLost)
    const first = follow(locks.acquire('k', { wait: '5s' }), clock)
    await clock.advance(10)
    const second = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(8_000)
    expect(second.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no' })
    expect(first.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
  })

  it('ends when its locker is closed by whoever hears that it began', async () => {
    await locks.acquire('k')
    const closing: Locker = createLocker({
      store,
      clock,
      onEvent: ({ type }) => {
        if (type === 'contended') void closing.close({ grace: 0 })
      },
    })
    await closing.acquire('mine')
    const waiting = follow(closing.acquire('mine'), clock)
    await clock.advance(100)
    expect(waiting.reason).toMatchObject({ code: 'CLOSED' })
  })

  it('ends each at its own time, whoever came first', async () => {
    await locks.acquire('k')
    const waits = [3_000, 1_000, 2_000, 1_000]
    const waiting = waits.map((wait) => follow(locks.acquire('k', { wait }), clock))
    for (const atMs of [1_000, 2_000, 3_000]) {
      await clock.advance(999)
      const states = (): string[] => waiting.map(({ state }) => state)
      expect(states()).toEqual(waits.map((wait) => (wait < atMs ? 'rejected' : 'pending')))
      await clock.advance(1)
      expect(states()).toEqual(waits.map((wait) => (wait <= atMs ? 'rejected' : 'pending')))
    }
    for (const [at, { reason }] of waiting.entries()) expect(reason).toMatchObject({ waitedMs: waits[at], commands: 0 })
  })

  it('ends as unavailable when the store has gone silent since this process held the lock', async () => {
    await locks.acquire('k', { ttl: '1s', renew: false })
    const waiting = follow(locks.acquire('k', { wait: '4s' }), clock)
    await clock.advance(100)
    store.always('acquire', requestLost)
    await clock.advance(4_000)
    expect(waiting.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
  })

  it('does not leave a lock held for much longer than the ttl its holder asked for', async () => {
    const long = await locks.acquire('k', { ttl: '10m' })
    const next = locks.acquire('k', { ttl: '2s' })
    await long.release()
    await next
    const state = await locks.inspect('k')
    expect(state.held && state.expiresInMs).toBeLessThanOrEqual(2_000)
  })

  it('of a caller who aborts in the moment of the hand-off gives the lock back', async () => {
    const holder = await locks.acquire('k')
    const stop = new AbortController()
    const waiting = follow(locks.acquire('k', { signal: stop.signal }), clock)
    await clock.advance(0)
    void holder.release()
    stop.abort('gave up')
    await clock.advance(10)
    expect(waiting).toMatchObject({ state: 'rejected', reason: 'gave up' })
    expect(await others.isLocked('k')).toBe(false)
  })
})
