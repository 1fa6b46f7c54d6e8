import {
  type Fate,
  follow,
  refusing,
  replyAfter,
  replyLost,
  requestAfter,
  requestLost,
  ScriptedNotifier,
  testLocker,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { offerPassOn } from '../adapter/index.ts'
import { InvalidOptionError, LeaseholdError, LeaseLostError, StoreUnavailableError } from '../errors.ts'
import type { Lease } from '../index.ts'
import { detach, resume } from './index.ts'

let { locks, elsewhere, store, clock, events, eventsOf } = testLocker()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock, events, eventsOf } = testLocker())
})

const ttl = '5m'
const told = (): string[] => events.map(({ type }) => type)
const released = { code: 'LEASE_RELEASED', key: 'k' }
const expiresInMs = async (): Promise<number | null | undefined> => {
  const state = await elsewhere.inspect('k')
  return state.held ? state.expiresInMs : undefined
}
const notYours: Fate = async () => [{ type: 'superseded' } as never]

/** Lets time pass while a call settles. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  const call = follow(promise, clock)
  for (let passedMs = 0; call.state === 'pending' && passedMs < 20_000; passedMs += 50) await clock.advance(50)
  return promise
}

describe('detach', () => {
  it('renews once, to its ttl, and never again', async () => {
    const lease = await locks.acquire('k')
    const message = await detach(lease, { ttl })
    expect(store.called('renew')).toMatchObject([{ requests: [{ token: message.token, ttlMs: 300_000 }] }])
    expect(await expiresInMs()).toBe(300_000)
    await clock.advance(299_999)
    expect(store.called('renew')).toHaveLength(1)
    expect(await elsewhere.isLocked('k')).toBe(true)
    await clock.advance(1)
    expect(await elsewhere.isLocked('k')).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('answers plain JSON', async () => {
    const lease = await locks.acquire('k')
    const { key, token, fence } = lease
    const message = await detach(lease, { ttl })
    expect(JSON.parse(JSON.stringify(message))).toEqual({ key, token, fence })
  })

  it('shortens nothing', async () => {
    const lease = await locks.acquire('k', { ttl: '10m' })
    await detach(lease, { ttl: '1s' })
    expect(await expiresInMs()).toBe(600_000)
  })

  it('ends the hold without a release: the signal never fires, and the event says so', async () => {
    const lease = await locks.acquire('k', { maxHold: '20s' })
    const { signal } = lease
    await clock.advance(1_000)
    await detach(lease, { ttl })
    await clock.advance(400_000)
    expect(signal.aborted).toBe(false)
    expect(lease.signal.aborted).toBe(false)
    expect(eventsOf('released')).toMatchObject([{ outcome: 'detached', fence: lease.fence, heldMs: 1_000 }])
    expect(told()).toEqual(['acquired', 'released'])
  })

  it('leaves nothing to give back, and nothing to ask', async () => {
    const lease = await locks.acquire('k')
    await detach(lease, { ttl })
    const sent = store.calls.length
    expect(await lease.release()).toBe('detached')
    await lease[Symbol.asyncDispose]()
    expect(lease.remaining()).toBe(0)
    expect(() => lease.assertValid()).toThrow(LeaseholdError)
    await expect(lease.renew({ ttl })).rejects.toMatchObject(released)
    await expect(detach(lease, { ttl })).rejects.toMatchObject(released)
    expect(store.calls).toHaveLength(sent)
  })

  it('within `withLock` gives the work’s result', async () => {
    const message = await locks.withLock('k', (lease) => detach(lease, { ttl }))
    expect(store.called('release')).toEqual([])
    expect((await resume(elsewhere, message)).fence).toBeGreaterThan(message.fence)
  })

  it('takes the lease off the books: closing the locker leaves the lock alone', async () => {
    await detach(await locks.acquire('k'), { ttl })
    await locks.close({ grace: 0 })
    expect(store.called('release')).toEqual([])
    expect(await elsewhere.isLocked('k')).toBe(true)
  })

  it('works while the locker is being closed, until the grace is over', async () => {
    const [soon, late] = await Promise.all([locks.acquire('k'), locks.acquire('late')])
    const closing = locks.close({ grace: '1s' })
    await detach(soon, { ttl })
    await clock.advance(1_000)
    await closing
    await expect(detach(late, { ttl })).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
    expect(late.signal.reason).toMatchObject({ reason: 'closed' })
    expect(await elsewhere.isLocked('k')).toBe(true)
  })

  it('called twice at once detaches once', async () => {
    const lease = await locks.acquire('k')
    const calls = await Promise.allSettled([detach(lease, { ttl }), detach(lease, { ttl })])
    expect(calls).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: released }])
    expect(eventsOf('released')).toHaveLength(1)
  })

  it('ends the calls of `renew` under way', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', replyAfter(500))
    const renewing = lease.renew({ ttl: '1m' })
    const refused = expect(renewing).rejects.toMatchObject(released)
    await clock.advance(1)
    await detach(lease, { ttl })
    await refused
  })
})

describe('the waiters of this process', () => {
  it('never get a detached lease by hand-off, and compete for the lock on the store', async () => {
    const lease = await locks.acquire('k')
    const waiting = follow(locks.acquire('k', { wait: '1h' }), clock)
    await clock.advance(1_000)
    expect(store.called('acquire')).toHaveLength(1)
    // A ttl with which the lease could be handed off.
    const message = await detach(lease, { ttl: '10s' })
    await clock.advance(5_000)
    expect(waiting.state).toBe('pending')
    expect(store.called('acquire').length).toBeGreaterThan(1)
    const taken = await resume(elsewhere, message)
    await taken.release()
    await clock.advance(5_000)
    expect(waiting.state).toBe('fulfilled')
    expect(waiting.value?.fence).toBeGreaterThan(taken.fence)
  })

  it('compete for it from the beginning, where a release could have passed the lock on', async () => {
    const passing = testLocker({ notifier: new ScriptedNotifier() })
    offerPassOn(passing.store, () => Promise.reject(new Error('nothing is released')))
    const lease = await passing.locks.acquire('k')
    const waiting = passing.locks.acquire('k', { wait: '1s' })
    passing.store.always('acquire', unavailable('no'))
    const refused = expect(waiting).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no' })
    await detach(lease, { ttl: '10s' })
    await passing.clock.advance(2_000)
    await refused
    expect(passing.store.called('release')).toEqual([])
  })

  it('may get it before it is detached: then its fence is in the message, and the next is higher', async () => {
    const first = await locks.acquire('k')
    const waiting = locks.acquire('k')
    await clock.advance(1)
    await first.release()
    const second = await waiting
    expect(second.commands).toBe(0)
    const message = await detach(second, { ttl })
    expect(message.fence).toBe(first.fence + 1)
    // All seventeen that were reserved for this grant.
    expect((await resume(elsewhere, message)).fence).toBeGreaterThan(first.fence + 16)
    await expect(detach(first, { ttl })).rejects.toMatchObject(released)
  })
})

describe('without an answer', () => {
  it('the lease is still held, and renewed as before', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', replyLost, replyLost)
    await expect(settled(detach(lease, { ttl }))).rejects.toBeInstanceOf(StoreUnavailableError)
    lease.assertValid()
    await clock.advance(50_000)
    lease.assertValid()
    expect(store.called('renew').length).toBeGreaterThan(10)
    expect(told()).toEqual(['acquired'])
    expect(await lease.release()).toBe('released')
  })

  it('it is detached by the second try', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', requestLost)
    const message = await settled(detach(lease, { ttl }))
    expect((await resume(elsewhere, message)).fence).toBeGreaterThan(lease.fence)
  })

  it('and in the very moment in which its validity ends, the lease is lost, and given back', async () => {
    const lease = await locks.acquire('k')
    const check = lease.assertValid.bind(lease)
    let checks = 0
    lease.assertValid = () => {
      check()
      // The last check before the hold ends.
      if (++checks === 3) clock.stepWall(600_000)
    }
    await expect(detach(lease, { ttl })).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'expired' })
    expect(await lease.release()).toBe('released')
    expect(store.called('release')).toHaveLength(1)
  })

  it('a release meanwhile wins', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', replyAfter(300))
    const refused = expect(detach(lease, { ttl })).rejects.toMatchObject(released)
    await clock.advance(100)
    expect(await lease.release()).toBe('released')
    await refused
    expect(await elsewhere.isLocked('k')).toBe(false)
  })
})

describe('a renewal that was under way', () => {
  /** Detaches while the scheduled renewal is under way, and lets somebody resume. */
  async function crossed(fate: Fate): Promise<Lease> {
    const lease = await locks.acquire('k')
    store.next('renew', fate)
    while (store.called('renew').length === 0) await clock.advance(50)
    const message = await detach(lease, { ttl })
    return resume(elsewhere, message, { renew: false })
  }

  it('disturbs nobody when it arrives after the lease was resumed', async () => {
    const taken = await crossed(requestAfter(3_000))
    await clock.advance(10_000)
    expect(await expiresInMs()).toBe(290_000)
    expect(told()).toEqual(['acquired', 'released'])
    expect(await taken.release()).toBe('released')
  })

  it('is no loss when it is answered "not yours" afterwards', async () => {
    const taken = await crossed(async (sending) => {
      await new Promise<void>((resolve) => void sending.clock.schedule(resolve, 2_500))
      return notYours(sending)
    })
    await clock.advance(10_000)
    expect(told()).toEqual(['acquired', 'released'])
    expect(await taken.release()).toBe('released')
  })
})

describe('what cannot be detached', () => {
  it('a lost lease', async () => {
    const lease = await locks.acquire('k', { renew: false })
    await clock.advance(10_000)
    await expect(detach(lease, { ttl })).rejects.toBeInstanceOf(LeaseLostError)
    expect(store.called('renew')).toEqual([])
  })

  it('a lease that the store has given to another', async () => {
    const lease = await locks.acquire('k')
    await elsewhere.revoke('k')
    await expect(detach(lease, { ttl })).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    expect(told()).toEqual(['acquired', 'lost'])
  })

  it('a lease whose renewal the store refuses: it is still held', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', refusing(new StoreUnavailableError('refused the request', 'no', undefined, true)))
    await expect(detach(lease, { ttl })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', refused: true })
    lease.assertValid()
  })

  it('a released lease, what is no lease, and by no good option', async () => {
    const lease = await locks.acquire('k')
    for (const [option, call] of [
      ['ttl', () => detach(lease, {} as never)],
      ['ttl', () => detach(lease, { ttl: 'soon' as never })],
      ['by', () => detach(lease, { ttl, by: '1s' } as never)],
      ['options', () => detach(lease, 5 as never)],
      ['lease', () => detach({ ...lease } as never, { ttl })],
      ['lease', () => detach(undefined as never, { ttl })],
    ] as const) {
      const error = await call().catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(InvalidOptionError)
      expect(error).toMatchObject({ option })
      // As `renew` would say.
      expect((error as Error).message).not.toContain('instead')
    }
    await lease.release()
    await expect(detach(lease, { ttl })).rejects.toMatchObject(released)
    expect(store.called('renew')).toEqual([])
  })
})
