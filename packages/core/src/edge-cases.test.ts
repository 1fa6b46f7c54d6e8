import {
  type Fate,
  follow,
  ManualClock,
  replyAfter,
  replyLost,
  requestLost,
  ScriptedNotifier,
  ScriptedStore,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { InvalidOptionError } from './errors.ts'
import type { LockerEvent } from './events.ts'
import { createLocker, type Locker, type LockerOptions } from './locker.ts'
import { planFor } from './options.ts'
import { parseDuration } from './timing/duration.ts'

const { signal: unstopped } = new AbortController()
const validMs = 10_000 - 102

let clock: ManualClock
let store: ScriptedStore
let events: LockerEvent[]
let locks: Locker

beforeEach(() => {
  clock = new ManualClock()
  store = new ScriptedStore(clock)
  events = []
  locks = createLocker({ store, clock, onEvent: (event) => events.push(event) })
})

async function held(key: string): Promise<boolean> {
  const outcome = await store.inspect(key, unstopped)
  return outcome.type === 'state' && outcome.state.held
}

describe('waiters of one process', () => {
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

  it('do not trust a renewal that was under way at the hand-over for longer than it asked for', async () => {
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

  it('do not renew twice at once after a hand-over', async () => {
    const lease = await locks.acquire('k', { ttl: '10s' })
    const waiting = follow(locks.acquire('k', { ttl: '1s' }), clock)
    store.always('renew', replyAfter(900))
    while (store.called('renew').length === 0) await clock.advance(10)
    await lease.release()
    await clock.advance(880)
    expect(waiting.state).toBe('fulfilled')
    expect(store.mostAtOnce('renew')).toBe(1)
  })
})

describe('closing', () => {
  it('waits for the clean-up of the acquires that it ended', async () => {
    store.next('acquire', replyLost)
    store.next('release', replyAfter(700))
    follow(locks.acquire('k'), clock)
    await clock.advance(100)
    const closing = follow(locks.close(), clock)
    await clock.advance(699)
    expect(closing.state).toBe('pending')
    await clock.advance(1)
    expect(closing.state).toBe('fulfilled')
    expect(await held('k')).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('rejects, rather than throws, when its grace is bad', async () => {
    await expect(locks.close({ grace: -1 })).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'grace' })
  })
})

describe('a release', () => {
  it('after the loss is sent once, also to a store that fails at once', async () => {
    const lease = await locks.acquire('k', { renew: false })
    await clock.advance(validMs)
    expect(lease.signal.aborted).toBe(true)
    store.always('release', unavailable('no'))
    const releasing = follow(lease.release(), clock)
    await clock.advance(10_000)
    expect(releasing.value).toBe('unknown')
    expect(store.called('release')).toHaveLength(1)
  })

  const broken: Fate = async () => {
    throw new Error('broken adapter')
  }

  it('to a store that rejects, against the rules of the port, is unknown, and frees the place in line', async () => {
    const lease = await locks.acquire('k')
    store.next('release', broken)
    expect(await lease.release()).toBe('unknown')
    const next = follow(locks.acquire('k', { wait: '20s' }), clock)
    await clock.advance(20_000)
    expect(next.state).toBe('fulfilled')
  })

  it('to a store that rejects does not hide the error of the work', async () => {
    store.always('release', broken)
    const own = new Error('own')
    await expect(locks.withLock('k', () => Promise.reject(own))).rejects.toBe(own)
  })
})

describe('work that kept the event loop busy beyond the validity', () => {
  it.each([
    ['finds the entry gone', 11_000, undefined],
    ['gets no answer', 11_000, requestLost],
    ['finds the entry still there', validMs + 50, undefined],
  ] as const)('is told that its lease expired, though its release %s', async (_, busyMs, fate) => {
    if (fate) store.always('release', fate)
    const working = follow(
      locks.withLock('k', () => {
        clock.block(busyMs)
        return 'done'
      }),
      clock,
    )
    await clock.advance(0)
    await clock.advance(250)
    expect(working.reason).toMatchObject({ code: 'LEASE_LOST', cause: 'expired', result: 'done' })
  })
})

describe('a store that answers no renewal', () => {
  it('is why they are lost, also to those leases whose turn to be renewed never came', async () => {
    await Promise.all(Array.from({ length: 5_000 }, (_, at) => locks.acquire(`k${at}`)))
    store.always('renew', requestLost)
    await clock.advance(10_000)
    const causes = events.flatMap((event) => (event.type === 'lost' ? event.cause : []))
    expect(causes).toHaveLength(5_000)
    expect(new Set(causes)).toEqual(new Set(['unreachable']))
  })
})

describe('a waiter with a notifier', () => {
  it('does not subscribe when its first refusal spent its budget', async () => {
    const notifier = new ScriptedNotifier()
    await locks.acquire('k')
    const acquiring = follow(createLocker({ store, clock, notifier }).acquire('k', { budget: 1 }), clock)
    await clock.advance(0)
    expect(acquiring.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', commands: 1 })
    expect(notifier.subscriptions).toEqual([])
  })
})

describe('options', () => {
  const refused = (option: string) => expect.objectContaining({ code: 'INVALID_OPTION', option })
  const untyped = (options: object): never => options as never

  it('given as undefined do not undo what the locker says', async () => {
    expect(planFor('k', { ttl: '5s' }, untyped({ ttl: undefined })).ttlMs).toBe(5_000)
    await expect(locks.tryAcquire('k', untyped({ wait: undefined }))).resolves.not.toBeNull()
  })

  it('are not less than nothing', () => {
    expect(() => parseDuration('wait', -0.5, 0)).toThrow(InvalidOptionError)
  })

  it('of another type are refused by name', () => {
    expect(() => planFor('k', untyped({ budget: '5' }))).toThrow(refused('budget'))
    expect(() => planFor('k', untyped({ strategy: 7 }))).toThrow(refused('strategy'))
    for (const name of [7, null, ['orders']]) {
      expect(() => createLocker({ store, name: untyped(name as object) })).toThrow(refused('name'))
    }
  })

  it('of a locker do not include a signal', () => {
    expect(() => createLocker({ store, signal: unstopped } as LockerOptions)).toThrow(refused('signal'))
  })
})
