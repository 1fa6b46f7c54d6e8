import { inspect } from 'node:util'
import {
  follow,
  ManualClock,
  refusing,
  replyAfter,
  replyLost,
  requestLost,
  ScriptedNotifier,
  ScriptedStore,
  type Settlement,
  testLocker,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  AcquireTimeoutError,
  InvalidOptionError,
  LeaseholdError,
  LeaseLostError,
  StoreUnavailableError,
} from '../errors.ts'
import { type LockerEvent, poll } from '../index.ts'
import { delegatedRenewal } from '../lease/delegated-renewal.ts'
import { memoryNotifier, memoryStore } from '../memory/index.ts'
import { fifo } from '../queue/index.ts'
import { semaphore } from '../semaphore/index.ts'
import { acquireAll, type LeaseSet, releaseAll, tryAcquireAll, tryAcquireEach, withLocks } from './index.ts'

/** A scripted store whose releases are heard. */
function setUp() {
  const clock = new ManualClock()
  const memory = memoryStore({ clock: { ...bound(clock), schedule: () => () => undefined } })
  const store = new ScriptedStore(clock, memory)
  return testLocker({ name: 'here', clock, store, notifier: memoryNotifier(memory) })
}
const bound = (clock: ManualClock) => ({ monotonicMs: () => clock.monotonicMs(), wallMs: () => clock.wallMs() })

let { locks, elsewhere, store, clock, events } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock, events } = setUp())
})

/** Lets time pass while a call settles. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  const call = follow(promise, clock)
  for (let passedMs = 0; call.state === 'pending' && passedMs < 20_000; passedMs += 10) await clock.advance(10)
  return promise
}
const heldOf = (...keys: string[]): Promise<boolean[]> => Promise.all(keys.map((key) => elsewhere.isLocked(key)))
const told = (type: LockerEvent['type']): (string | undefined)[] =>
  events.flatMap((event) => (event.type === type && 'key' in event ? [event.key] : []))
const names = (): string[] => store.calls.map(({ name }) => name)
const reasonOf = <T>({ reason }: Settlement<T>): unknown => reason

describe.each(['one request', 'a request for each key'])('a set that takes %s', (how) => {
  beforeEach(() => {
    store.apart = how !== 'one request'
  })

  it('has a lease of each key, once, in the order of their bytes', async () => {
    // As UTF-16 units, the last two would come in the reverse order.
    const set = await acquireAll(locks, ['b', '\u{1f511}', 'a', '\u{ff21}', 'b'])
    expect([...set.leases.keys()]).toEqual(['a', 'b', '\u{ff21}', '\u{1f511}'])
    for (const [key, { fence }] of set.leases) expect(await locks.inspect(key)).toMatchObject({ holder: 'here', fence })
    expect(set.commands).toBe(store.apart ? 4 : 1)
    expect(told('acquired')).toEqual([...set.leases.keys()])
    expect(new Set(Array.from(set.leases.values(), ({ token }) => token.slice(0, 37))).size).toBe(4)
    store.calls.length = 0
    expect([...(await set.release())]).toEqual([...set.leases.keys()].map((key) => [key, 'released']))
    expect(names()).toEqual(['release'])
    expect(await heldOf('a', 'b')).toEqual([false, false])
    expect(clock.pending).toBe(0)
  })

  it('is null for a try when one is held, and leaves nothing behind', async () => {
    await elsewhere.acquire('b')
    expect(await settled(tryAcquireAll(locks, ['a', 'b', 'c']))).toBeNull()
    expect(await heldOf('a', 'b', 'c')).toEqual([false, true, false])
    expect(clock.timers.filter(({ background }) => !background)).toEqual([])
  })

  it('ends in vain with the name of the lock that was in the way, and leaves nothing behind', async () => {
    await elsewhere.acquire('b')
    const call = follow(acquireAll(locks, ['a', 'b', 'c'], { wait: '2s' }), clock)
    await clock.advance(2_300)
    expect(reasonOf(call)).toBeInstanceOf(AcquireTimeoutError)
    expect(reasonOf(call)).toMatchObject({ key: 'b', heldHere: false, lateGrants: 0 })
    expect(call.atMs).toBeLessThan(2_010)
    expect(await heldOf('a', 'b', 'c')).toEqual([false, true, false])
    expect(events.at(-1)).toMatchObject({ type: 'acquire-failed', key: 'b', reason: 'timeout' })
    expect(told('contended')).toEqual(['b'])
  })

  it('says so when it is this locker that has the lock', async () => {
    await locks.acquire('b')
    const call = follow(acquireAll(locks, ['a', 'b'], { wait: '1s' }), clock)
    await clock.advance(1_300)
    expect(reasonOf(call)).toMatchObject({ key: 'b', heldHere: true, holder: 'here' })
  })

  it('is woken by a release of whichever lock is in the way', async () => {
    const [b, c] = await Promise.all(['b', 'c'].map((key) => elsewhere.acquire(key, { ttl: '1h', renew: false })))
    const call = follow(acquireAll(locks, ['a', 'b', 'c'], { wait: '30s', recheck: '1h' }), clock)
    await clock.advance(5_000)
    await b?.release()
    await clock.advance(5_000)
    expect(call.state).toBe('pending')
    const before = store.calls.length
    await c?.release()
    await clock.advance(0)
    expect(call).toMatchObject({ state: 'fulfilled', atMs: 10_000 })
    expect(store.calls.length - before).toBeLessThanOrEqual(2)
  })

  it('waits for the expiry of a dead holder', async () => {
    await elsewhere.acquire('b', { ttl: '5s', renew: false })
    const call = follow(acquireAll(locks, ['a', 'b'], { wait: '30s', recheck: '1h' }), clock)
    await clock.advance(5_100)
    expect(call.state).toBe('fulfilled')
  })

  it('that lost its reply finds its own locks', async () => {
    store.next('acquireAll', replyLost)
    const set = await settled(acquireAll(locks, ['a', 'b']))
    expect(set.remaining()).toBeGreaterThan(0)
    expect(set.commands).toBe(store.apart ? 3 : 2)
    await set.release()
    expect(await heldOf('a', 'b')).toEqual([false, false])
  })

  it('that never gets a reply ends as unknown, and undoes what it may have taken', async () => {
    store.always('acquireAll', replyLost)
    const call = follow(acquireAll(locks, ['a', 'b'], { wait: '3s' }), clock)
    await clock.advance(3_010)
    expect(reasonOf(call)).toBeInstanceOf(StoreUnavailableError)
    expect(reasonOf(call)).toMatchObject({ executed: 'unknown' })
    await clock.advance(5_000)
    expect(await heldOf('a', 'b')).toEqual([false, false])
    expect(clock.pending).toBe(0)
  })

  it('that is granted after its caller has gone is given back', async () => {
    const abort = new AbortController()
    store.always('acquireAll', replyAfter(500))
    const call = follow(acquireAll(locks, ['a', 'b'], { signal: abort.signal }), clock)
    await clock.advance(store.apart ? 700 : 200)
    abort.abort('enough')
    await clock.advance(0)
    expect(call).toMatchObject({ state: 'rejected', reason: 'enough' })
    await clock.advance(5_000)
    expect(await heldOf('a', 'b')).toEqual([false, false])
    expect(events.at(-1)).toMatchObject({ type: 'acquire-failed', reason: 'aborted' })
  })

  it('that comes too late to be of use is given back, and acquired anew', async () => {
    // Half of the deadline for an attempt; its answer counts from when it was sent.
    store.next('acquireAll', replyAfter(900))
    const set = await settled(acquireAll(locks, ['a', 'b'], { ttl: '3s', minValidity: '2500ms' }))
    expect(set.remaining()).toBeGreaterThanOrEqual(2_500)
    await set.release()
    expect(await heldOf('a', 'b')).toEqual([false, false])
  })

  it('whose caller gives up at the very moment of the grant is given back', async () => {
    for (let turns = 0; turns < 40; turns++) {
      const abort = new AbortController()
      const giveUp = async (): Promise<void> => {
        for (let turn = 0; turn < turns; turn++) await undefined
        abort.abort('enough')
      }
      store.next('acquireAll', ({ execute }) => {
        const answer = execute()
        void answer.then(giveUp)
        return answer
      })
      const set = await acquireAll(locks, ['a'], { signal: abort.signal }).catch(() => undefined)
      await set?.release()
      await clock.advance(0)
      expect(await heldOf('a'), `after ${turns} microtasks`).toEqual([false])
    }
  })

  it('is not fooled by an answer to somebody else', async () => {
    store.next('acquireAll', async (sending) => {
      const [outcome] = await sending.execute()
      const token = `${'0'.repeat(32)}.5`
      return [
        {
          ...(outcome as object),
          token,
          fence: 5,
          grants: [
            { token, fence: 5 },
            { token, fence: 5 },
          ],
        } as never,
      ]
    })
    const set = await settled(acquireAll(locks, ['a', 'b']))
    for (const { token } of set.leases.values()) expect(token).not.toMatch(/^0{32}/)
    await set.release()
    expect(await heldOf('a', 'b')).toEqual([false, false])
  })

  it('is printed with its keys and fences, without the tokens', async () => {
    const set = await acquireAll(locks, ['b', 'a'])
    const { waitedMs, commands } = set
    const leases = [...set.leases.values()].map(({ key, fence }) => ({ key, fence }))
    const remainingMs = Math.floor(set.remaining())
    expect(JSON.parse(JSON.stringify(set))).toEqual({ leases, waitedMs, commands, remainingMs })
    expect(leases).toMatchObject([{ key: 'a' }, { key: 'b' }])
    const printed = inspect(set, { showHidden: true, depth: 10 })
    for (const { key, token } of set.leases.values()) {
      expect(printed).toContain(key)
      expect(printed).not.toContain(token)
    }
  })

  it('is refused for good when the store refuses one of its keys', async () => {
    const error = new LeaseholdError('KIND_MISMATCH', 'no lock')
    store.next('acquireAll', refusing(error))
    // The text names the key, unless the request was about both and the store has not said which it means.
    const message = store.apart ? 'Lock "a": no lock' : 'no lock'
    await expect(settled(acquireAll(locks, ['a', 'b']))).rejects.toMatchObject({
      code: 'KIND_MISMATCH',
      key: 'a',
      message,
    })
  })

  it('is never handed off: its release goes to the store, and wakes who waits for one of its keys here', async () => {
    const set = await acquireAll(locks, ['a', 'b'])
    const waiting = follow(locks.acquire('b', { recheck: '1h' }), clock)
    await clock.advance(100)
    await set.release()
    await clock.advance(0)
    expect(waiting.state).toBe('fulfilled')
    expect(waiting.value?.commands).toBeGreaterThan(0)
  })

  it('takes part when a key goes from hand to hand within this process', async () => {
    // At most sixteen hand-offs come in a row. Then the lock is free for a moment, and the set hears of it.
    const first = await locks.acquire('b')
    let isOver = false
    async function next(): Promise<void> {
      const lease = await locks.acquire('b', { wait: '1h' })
      if (isOver) return void lease.release()
      clock.schedule(() => void lease.release(), 1)
      await next()
    }
    const others = [1, 2, 3].map(() => next().catch(() => undefined))
    const call = follow(acquireAll(locks, ['a', 'b'], { wait: '10s', recheck: '1h' }), clock)
    await clock.advance(50)
    await first.release()
    await clock.advance(5_000)
    isOver = true
    expect(call.state).toBe('fulfilled')
    await call.value?.release()
    await clock.advance(5_000)
    await Promise.all(others)
  })

  it('is refused once the locker is closed, and its leases are taken away then', async () => {
    const set = await acquireAll(locks, ['a', 'b'])
    await settled(locks.close({ grace: 0 }))
    expect(set.signal.reason).toMatchObject({ reason: 'closed' })
    await expect(acquireAll(locks, ['a', 'b'])).rejects.toMatchObject({ code: 'CLOSED' })
    expect(await heldOf('a', 'b')).toEqual([false, false])
  })

  it('ends with the reason of its caller’s signal, and holds nothing', async () => {
    const abort = new AbortController()
    await elsewhere.acquire('b')
    const call = follow(acquireAll(locks, ['a', 'b'], { signal: abort.signal }), clock)
    await clock.advance(1_000)
    abort.abort('enough')
    await clock.advance(0)
    expect(call).toMatchObject({ state: 'rejected', reason: 'enough', atMs: 1_000 })
    await clock.advance(10)
    expect(await heldOf('a')).toEqual([false])
  })
})

describe('a set of one request', () => {
  it('holds nothing while it waits', async () => {
    await elsewhere.acquire('b')
    const call = follow(acquireAll(locks, ['a', 'b', 'c']), clock)
    await clock.advance(1_000)
    expect(await heldOf('a', 'c')).toEqual([false, false])
    await clock.advance(10_000)
    expect(call.state).toBe('rejected')
  })

  it('of which some was lost before the repeat gives the rest back, and is acquired anew', async () => {
    store.next('acquireAll', replyLost)
    const call = follow(acquireAll(locks, ['a', 'b', 'c'], { wait: '20s' }), clock)
    await clock.advance(100)
    expect(await heldOf('a', 'b', 'c')).toEqual([true, true, true])
    await elsewhere.revoke('b')
    const other = await elsewhere.acquire('b')
    await clock.advance(3_000)
    expect(await heldOf('a', 'b', 'c')).toEqual([false, true, false])
    await other.release()
    await clock.advance(1_000)
    expect(call.state).toBe('fulfilled')
    const [first, ...later] = store.called('acquireAll').map(({ requests }) => requests[0]?.acquisitionId)
    expect(later[0]).toBe(first)
    expect(later.at(-1)).not.toBe(first)
  })

  it('and so it does where the client sends a request twice by itself', async () => {
    store.next('acquireAll', async ({ execute }) => {
      await execute()
      await elsewhere.revoke('b')
      return execute()
    })
    const set = await settled(acquireAll(locks, ['a', 'b', 'c']))
    await set.release()
    expect(await heldOf('a', 'b', 'c')).toEqual([false, false, false])
    expect(set.commands).toBe(2)
  })

  it('takes its keys one by one where the store turns out to keep them apart', async () => {
    store.next('acquireAll', async ({ requests }) => {
      store.apart = true
      return requests.map(() => ({ type: 'apart' })) as never
    })
    const set = await acquireAll(locks, ['a', 'b'])
    expect(names()).toEqual(['acquireAll', 'acquireAll', 'acquireAll'])
    await set.release()
  })

  it('and so it does where the store says so again and again', async () => {
    const apart = { type: 'apart' } as never
    store.always('acquireAll', async ({ requests, execute }) => (requests.length > 1 ? [apart] : execute()))
    await (await acquireAll(locks, ['a', 'b'])).release()
    expect(store.called('acquireAll').map(({ requests }) => requests.length)).toEqual([2, 1, 1])
  })
})

describe('a set of several requests', () => {
  beforeEach(() => {
    store.apart = true
  })

  it('holds and renews what comes before the lock for which it waits, and nothing behind it', async () => {
    await elsewhere.acquire('b', { ttl: '1h', renew: false })
    const call = follow(acquireAll(locks, ['c', 'a', 'b'], { ttl: '3s', wait: '20s', renew: false }), clock)
    await clock.advance(15_000)
    expect(await heldOf('a', 'c')).toEqual([true, false])
    await elsewhere.revoke('b')
    await clock.advance(1_000)
    expect(call.state).toBe('fulfilled')
    // None of them is renewed any longer, as the call asked.
    const renewed = store.called('renew').length
    await clock.advance(4_000)
    expect(call.value?.signal.reason).toMatchObject({ reason: 'expired' })
    expect(store.called('renew')).toHaveLength(renewed)
    expect(clock.pending).toBe(0)
  })

  it('whose first locks were lost meanwhile begins anew', async () => {
    const b = await elsewhere.acquire('b', { ttl: '1h', renew: false })
    const call = follow(acquireAll(locks, ['a', 'b'], { ttl: '3s', wait: '20s' }), clock)
    await clock.advance(5_000)
    await elsewhere.revoke('a')
    const a = await elsewhere.acquire('a', { ttl: '1h', renew: false })
    await clock.advance(2_000)
    await b.release()
    await clock.advance(100)
    expect(call.state).toBe('pending')
    expect(await heldOf('b')).toEqual([false])
    await a.release()
    await clock.advance(1_000)
    expect(call.state).toBe('fulfilled')
    call.value?.assertValid()
  })

  it('counts its `maxHold` from when it is complete', async () => {
    await elsewhere.acquire('b', { ttl: '6s', renew: false })
    const call = follow(acquireAll(locks, ['a', 'b'], { ttl: '3s', wait: '20s', maxHold: '5s' }), clock)
    await clock.advance(7_000)
    const set = call.value as LeaseSet
    set.assertValid()
    expect(set.remaining()).toBeLessThan(5_000)
    await clock.advance(5_000)
    expect(set.signal.reason).toMatchObject({ reason: 'max-hold' })
  })

  it('settles when what it had has been given back, or a moment later', async () => {
    await elsewhere.acquire('b')
    store.next('release', replyAfter(100), replyAfter(1_000))
    const [quick, slow] = [follow(tryAcquireAll(locks, ['a', 'b']), clock), undefined]
    await clock.advance(99)
    expect([quick.state, slow]).toEqual(['pending', undefined])
    await clock.advance(1)
    expect(quick).toMatchObject({ state: 'fulfilled', value: null })
    const late = follow(tryAcquireAll(locks, ['a', 'b']), clock)
    await clock.advance(249)
    expect(late.state).toBe('pending')
    await clock.advance(1)
    expect(late).toMatchObject({ state: 'fulfilled', value: null })
  })

  it('leaves its renewal to a watchdog, though one of ours was still under way', async () => {
    const adopted: string[] = []
    const elsewhereRenewed = delegatedRenewal({
      minTtlMs: 1,
      adopt: async ({ key }) => {
        adopted.push(key)
        return {
          lost: new Promise(() => undefined),
          remaining: async () => ({ validForMs: 3_000 }),
          end: async () => undefined,
        }
      },
    })
    const b = await elsewhere.acquire('b', { ttl: '1h', renew: false })
    const call = follow(acquireAll(locks, ['a', 'b'], { ttl: '3s', renew: elsewhereRenewed }), clock)
    store.always('renew', replyAfter(300))
    while (store.called('renew').length === 0) await clock.advance(10)
    await b.release()
    await clock.advance(100)
    expect(call.state).toBe('fulfilled')
    await clock.advance(2_000)
    expect(adopted.toSorted()).toEqual(['a', 'b'])
  })

  it('gives back what it had when a later request gets no answer', async () => {
    store.next('acquireAll', ({ execute }) => execute())
    store.always('acquireAll', requestLost)
    const call = follow(acquireAll(locks, ['a', 'b'], { wait: '2s' }), clock)
    await clock.advance(3_000)
    expect(reasonOf(call)).toBeInstanceOf(StoreUnavailableError)
    store.always('acquireAll', ({ execute }) => execute())
    expect(await heldOf('a', 'b')).toEqual([false, false])
  })
})

describe('the lease set', () => {
  it('is lost when one of its leases is, and the others stay until they are released', async () => {
    const set = await acquireAll(locks, ['a', 'b'], { ttl: '3s' })
    const { signal } = set
    await elsewhere.revoke('b')
    await clock.advance(3_000)
    expect(signal.reason).toBeInstanceOf(LeaseLostError)
    expect(signal.reason).toMatchObject({ key: 'b', reason: 'gone' })
    expect(set.remaining()).toBe(0)
    expect(() => set.assertValid()).toThrow(LeaseLostError)
    set.leases.get('a')?.assertValid()
    expect(await heldOf('a')).toEqual([true])
    expect([...(await set.release())]).toEqual([
      ['a', 'released'],
      ['b', 'expired'],
    ])
    expect(told('lost')).toEqual(['b'])
  })

  it('is valid as long as the shortest of its leases', async () => {
    const set = await acquireAll(locks, ['a', 'b'], { ttl: '10s' })
    await set.leases.get('a')?.renew({ ttl: '60s' })
    expect(set.remaining()).toBe(set.leases.get('b')?.remaining())
    await set.leases.get('a')?.release()
    expect(set.remaining()).toBe(0)
    expect(() => set.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_RELEASED' }))
    expect([...(await set.release()).values()]).toEqual(['released', 'released'])
  })

  it('is renewed and released with one command, and never aborts by a release', async () => {
    const set = await acquireAll(locks, ['a', 'b', 'c'])
    store.calls.length = 0
    await set.renew({ by: '1m' })
    expect(set.remaining()).toBeGreaterThan(60_000)
    await Promise.all([set.release(), set.release()])
    expect(names()).toEqual(['renew', 'release'])
    expect(set.signal.aborted).toBe(false)
    await expect(set.renew({ ttl: '1m' })).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
  })

  it('says of a renewal that one is lost, though another got no answer', async () => {
    const set = await acquireAll(locks, ['a', 'b'])
    await elsewhere.revoke('b')
    store.next('renew', async ({ execute }) => [
      { type: 'refused', error: new LeaseholdError('STORE_UNAVAILABLE', '-') },
      (await execute())[1] as never,
    ])
    await expect(set.renew({ ttl: '1m' })).rejects.toMatchObject({ code: 'LEASE_LOST', key: 'b' })
  })

  it('says of a renewal that is refused which of them it is about', async () => {
    const set = await acquireAll(locks, ['a', 'b'])
    const error = new StoreUnavailableError('refused the request', 'no', undefined, true)
    store.next('renew', async ({ execute }) => [(await execute())[0] as never, { type: 'refused', error }])
    const refused = { code: 'STORE_UNAVAILABLE', refused: true, key: 'b', message: expect.stringContaining('"b"') }
    await expect(set.renew({ ttl: '1m' })).rejects.toMatchObject(refused)
  })

  it('is given back at the end of its block', async () => {
    {
      await using set = await acquireAll(locks, ['a', 'b'])
      set.assertValid()
    }
    expect(await heldOf('a', 'b')).toEqual([false, false])
  })

  it('is renewed on the schedule of its ttl', async () => {
    const set = await acquireAll(locks, ['a', 'b'], { ttl: '3s' })
    await clock.advance(60_000)
    set.assertValid()
    await set.release()
    expect(clock.pending).toBe(0)
  })
})

describe('locks of other kinds', () => {
  it('are taken where they are free, by a locker whose calls queue as well', async () => {
    const { locks, elsewhere } = testLocker({ queue: fifo() })
    const set = await acquireAll(locks, ['a', 'b'])
    await set.release()
    const free = await tryAcquireEach(locks, ['a', 'b'])
    expect(await releaseAll(free.values())).toEqual(['released', 'released'])
    expect(await elsewhere.isLocked('a')).toBe(false)
  })

  it('are released together with plain ones, each in its own way', async () => {
    const { locks, elsewhere } = testLocker()
    const permit = await semaphore(locks, 'pool', { permits: 2 }).acquire()
    const queued = await locks.acquire('queued', { queue: fifo() })
    expect(await releaseAll([permit, queued, await locks.acquire('plain')])).toEqual(Array(3).fill('released'))
    expect((await semaphore(elsewhere, 'pool', { permits: 2 }).inspect()).available).toBe(2)
    await (await acquireAll(locks, ['a', 'pool', 'queued'])).release()
  })

  it('are refused by name where they are held by several', async () => {
    const { locks } = testLocker()
    await semaphore(locks, 'pool', { permits: 2 }).acquire()
    const refused = { code: 'KIND_MISMATCH', key: 'pool', message: expect.stringContaining('"pool"') }
    await expect(acquireAll(locks, ['a', 'pool'])).rejects.toMatchObject(refused)
    expect(await locks.isLocked('a')).toBe(false)
  })
})

describe('work under several locks', () => {
  it('has them to its end, and gives them back', async () => {
    const total = await withLocks(locks, ['b', 'a'], { wait: 0 }, async (set) => {
      expect(await heldOf('a', 'b')).toEqual([true, true])
      return set.leases.size
    })
    expect(total).toBe(2)
    expect(await withLocks(locks, ['a'], () => 'done')).toBe('done')
    expect(await heldOf('a', 'b')).toEqual([false, false])
  })

  it('rejects with its own error, and with the loss of one of them otherwise', async () => {
    const failing = withLocks(locks, ['a', 'b'], async () => {
      await elsewhere.revoke('a')
      throw new Error('mine')
    })
    await expect(settled(failing)).rejects.toThrow('mine')
    const losing = withLocks(locks, ['a', 'b'], { ttl: '3s' }, async () => {
      await elsewhere.revoke('b')
      await clock.advance(3_000)
      return 'result'
    })
    await expect(losing).rejects.toMatchObject({ code: 'LEASE_LOST', key: 'b', reason: 'gone', result: 'result' })
    const unaware = withLocks(locks, ['a', 'b'], async () => {
      await elsewhere.revoke('b')
      return 'result'
    })
    await expect(settled(unaware)).rejects.toMatchObject({ code: 'LEASE_LOST', key: 'b', result: 'result' })
  })

  it('ends soon after a loss, though its release is not answered', async () => {
    let lostAtMs = 0
    const call = follow(
      withLocks(locks, ['a', 'b'], { ttl: '30s' }, async ({ signal }) => {
        await elsewhere.revoke('b')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        lostAtMs = clock.monotonicMs()
      }),
      clock,
    )
    await clock.advance(0)
    store.always('release', requestLost)
    await clock.advance(15_000)
    expect(reasonOf(call)).toMatchObject({ code: 'LEASE_LOST', key: 'b' })
    expect(call.atMs).toBe(lostAtMs + 250)
  })
})

describe('waiting for a set', () => {
  it('keeps one subscription where each may be a connection, and that of each lock otherwise', async () => {
    for (const checks of [true, false]) {
      const clock = new ManualClock()
      const notifier = new ScriptedNotifier({ checks })
      const { locks, elsewhere } = testLocker({ clock, notifier })
      const [a, b] = await Promise.all(['a', 'b'].map((key) => elsewhere.acquire(key, { ttl: '1h', renew: false })))
      const call = follow(acquireAll(locks, ['a', 'b'], { wait: '1h', recheck: '1h' }), clock)
      await clock.advance(10)
      await a?.release()
      notifier.signal()
      await clock.advance(10)
      expect(notifier.subscriptions.map(({ key, closed }) => [key, closed])).toEqual([
        ['a', checks],
        ['b', false],
      ])
      await b?.release()
      notifier.signal()
      await clock.advance(10)
      expect(call.state).toBe('fulfilled')
      expect(notifier.subscriptions.every(({ closed }) => closed)).toBe(true)
    }
  })

  it('tells the notifier of a release that it has not heard', async () => {
    const clock = new ManualClock()
    const notifier = new ScriptedNotifier()
    const { locks, elsewhere } = testLocker({ clock, notifier })
    const b = await elsewhere.acquire('b', { ttl: '1h', renew: false })
    const call = follow(acquireAll(locks, ['a', 'b'], { wait: '1h', recheck: '1s' }), clock)
    await clock.advance(10)
    await b.release()
    await clock.advance(1_100)
    expect(call.state).toBe('fulfilled')
    expect(notifier.subscriptions[0]?.suspected).toHaveLength(1)
  })

  it('is told to a waiter of this process that polls', async () => {
    const { locks, clock } = testLocker()
    const set = await acquireAll(locks, ['a', 'b'], { ttl: '1h' })
    const waiting = follow(locks.acquire('b', { wait: '1h', strategy: poll({ every: '30m' }) }), clock)
    await clock.advance(1_000)
    await set.release()
    await clock.advance(0)
    expect(waiting.state).toBe('fulfilled')
  })
})

describe('what is refused by name', () => {
  it.each([
    ['keys', () => acquireAll(locks, [])],
    ['keys', () => acquireAll(locks, 'stock' as never)],
    [
      'keys',
      () =>
        acquireAll(
          locks,
          Array.from({ length: 1_001 }, (_, at) => `k${at}`),
        ),
    ],
    ['key', () => acquireAll(locks, ['a', ''])],
    ['locks', () => acquireAll({} as never, ['a'])],
    ['ttl', () => acquireAll(locks, ['a'], { ttl: -1 })],
    ['wait', () => tryAcquireAll(locks, ['a'], { wait: 5 } as never)],
    ['queue', () => acquireAll(locks, ['a'], { queue: fifo() } as never)],
    ['queue', () => tryAcquireEach(locks, ['a'], { queue: fifo() } as never)],
    ['work', () => withLocks(locks, ['a'], {}, undefined as never)],
  ])('%s', async (option, call) => {
    await expect(call()).rejects.toSatisfy((error) => error instanceof InvalidOptionError && error.option === option)
    expect(store.calls).toEqual([])
  })
})
