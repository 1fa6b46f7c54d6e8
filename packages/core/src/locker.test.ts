import {
  type Fate,
  follow,
  ManualClock,
  refusing,
  requestLost,
  ScriptedNotifier,
  ScriptedStore,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseholdError, StoreUnavailableError } from './errors.ts'
import type { LockerEvent } from './events.ts'
import { createLocker, type Locker } from './locker.ts'
import type { LeaseStore } from './store/lease-store.ts'
import type { Clock } from './timing/clock.ts'
import type { ReleaseNotifier } from './waiting/release-notifier.ts'

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

describe('making a locker', () => {
  it('takes undefined for every option that may be left out', async () => {
    const unset = { ttl: undefined, wait: undefined, renew: undefined, maxHold: undefined, minValidity: undefined }
    const waiting = { longHeld: undefined, recheck: undefined, strategy: undefined, budget: undefined }
    const own = { notifier: undefined, name: undefined, onEvent: undefined, waitUntil: undefined }
    const made = createLocker({ store, clock, ...own, ...unset, ...waiting })
    const lease = await made.acquire('k', { signal: undefined, ...unset, ...waiting })
    expect(await lease.release()).toBe('released')
    await made.close({ grace: undefined })
  })

  it('does nothing: no I/O, no randomness, no timer, no subscription', () => {
    const watched: Clock = { monotonicMs: vi.fn(), wallMs: vi.fn(), schedule: vi.fn() }
    const unused: LeaseStore = {
      commandDeadlineMs: 2_000,
      nodeOf: vi.fn(),
      whenReady: vi.fn(),
      acquire: vi.fn(),
      renew: vi.fn(),
      release: vi.fn(),
      checkHolders: vi.fn(),
      inspect: vi.fn(),
      revoke: vi.fn(),
    }
    const notifier: ReleaseNotifier = {
      checks: false,
      recheckMs: 1_000,
      subscribe: vi.fn(),
      waiter: vi.fn(),
      onStateChange: vi.fn(),
      close: vi.fn(),
    }
    const strong = vi.spyOn(crypto, 'getRandomValues')
    const cheap = vi.spyOn(Math, 'random')
    const timer = vi.spyOn(globalThis, 'setTimeout')
    createLocker({ store: unused, notifier, clock: watched, name: 'orders-7', ttl: '5s' }).for('k', { wait: '1s' })
    createLocker({ store: unused })
    // It registers to be notified of trouble, which does nothing yet.
    const { onStateChange: _, ...called } = notifier
    const calls = [...Object.values(watched), ...Object.values(unused), ...Object.values(called)]
    for (const call of [...calls, strong, cheap, timer]) {
      if (typeof call === 'function') expect(call).not.toHaveBeenCalled()
    }
    vi.restoreAllMocks()
  })
})

describe('a bound key', () => {
  it('makes the same calls as its locker, with its key and its options', async () => {
    const order = locks.for('order:1', { ttl: '5s' })
    const lease = await order.acquire()
    expect(lease.key).toBe('order:1')
    expect(store.calls[0]?.requests[0]).toMatchObject({ key: 'order:1', ttlMs: 5_000 })
    expect(await order.isLocked()).toBe(true)
    expect(await order.inspect()).toMatchObject({ held: true, fence: lease.fence })
    expect(await order.tryAcquire()).toBeNull()
    expect(await order.revoke()).toBe(true)
    expect(await order.withLock(({ key }) => key)).toBe('order:1')
  })

  it('lets each call have its own options, which win over its own, which win over those of the locker', async () => {
    locks = createLocker({ store, clock, ttl: '3s', minValidity: 1 })
    await locks.acquire('a')
    await locks.for('b', { ttl: '5s' }).acquire()
    await locks.for('c', { ttl: '5s' }).acquire({ ttl: '7s' })
    expect(store.calls.map(({ requests }) => requests[0]?.ttlMs)).toEqual([3_000, 5_000, 7_000])
  })

  it('holds no state: two of one key contend like any two', async () => {
    await locks.for('k').acquire()
    expect(await locks.for('k').tryAcquire()).toBeNull()
  })
})

describe('checking a lock', () => {
  it('tells whether it is held, by which locker, since when and for how long, and never its token', async () => {
    const named = createLocker({ store, clock, name: 'orders-7' })
    const since = new Date(clock.wallMs())
    const lease = await named.acquire('k', { ttl: '20s' })
    await clock.advance(1_000)
    const state = await locks.inspect('k')
    expect(state).toEqual({ held: true, holder: 'orders-7', fence: lease.fence, since, expiresInMs: 19_000 })
    expect(JSON.stringify(state)).not.toContain(/[\da-f]{32}/.exec(lease.token)?.[0])
    expect(await locks.isLocked('k')).toBe(true)
  })

  it('tells that it is free', async () => {
    expect(await locks.inspect('k')).toEqual({ held: false })
    expect(await locks.isLocked('k')).toBe(false)
  })

  it('names no holder that has no name', async () => {
    await locks.acquire('k')
    expect(await locks.inspect('k')).toMatchObject({ held: true, holder: null })
  })

  it('rejects when the store does not answer, within its deadline', async () => {
    for (const name of ['inspect', 'revoke'] as const) store.always(name, requestLost)
    const since = clock.monotonicMs()
    const calls = [locks.inspect('k'), locks.isLocked('k'), locks.revoke('k')].map((it) => follow<unknown>(it, clock))
    await clock.advance(2_000)
    for (const call of calls) {
      expect(call.reason).toBeInstanceOf(StoreUnavailableError)
      expect(call.reason).toMatchObject({ executed: 'unknown' })
    }
    // A revocation is not repeated: if its answer was lost, a repeat would hit a successor.
    expect(calls.map(({ atMs }) => (atMs ?? 0) - since)).toEqual([2_000, 2_000, 2_000])
    expect(store.calls.filter(({ name }) => name === 'revoke')).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it('is repeated once when an answer is lost', async () => {
    store.next('inspect', requestLost)
    const checking = follow(locks.inspect('k'), clock)
    await clock.advance(1_000)
    expect(checking.value).toEqual({ held: false })
  })
})

describe('revoke', () => {
  it('takes the lock from whoever has it and says whether somebody had', async () => {
    await locks.acquire('k')
    expect(await locks.revoke('k')).toBe(true)
    expect(await locks.isLocked('k')).toBe(false)
    expect(await locks.revoke('k')).toBe(false)
  })

  it('is learnt by the holder at its next renewal', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    await createLocker({ store, clock }).revoke('k')
    expect(signal.aborted).toBe(false)
    await clock.advance(3_334)
    expect(signal.reason).toMatchObject({ reason: 'gone' })
  })
})

describe('events', () => {
  it('come in the order in which things happen, each with its figures', async () => {
    const holder = await locks.acquire('k')
    const waiting = follow(locks.acquire('k', { ttl: '5s' }), clock)
    await clock.advance(2_000)
    await holder.release()
    await clock.advance(1_000)
    await locks.revoke('k')
    await clock.advance(3_000)
    await waiting.value?.release()
    expect(events).toEqual([
      { type: 'acquired', key: 'k', fence: holder.fence, waitedMs: 0, commands: 1 },
      { type: 'contended', key: 'k' },
      { type: 'wanted', key: 'k', fence: holder.fence },
      { type: 'released', key: 'k', fence: holder.fence, outcome: 'released', heldMs: expect.closeTo(2_000) },
      {
        type: 'acquired',
        key: 'k',
        fence: waiting.value?.fence,
        waitedMs: waiting.value?.waitedMs,
        commands: waiting.value?.commands,
      },
      { type: 'lost', key: 'k', fence: waiting.value?.fence, reason: 'gone' },
      {
        type: 'released',
        key: 'k',
        fence: waiting.value?.fence,
        outcome: 'expired',
        heldMs: expect.any(Number),
      },
    ])
  })

  it('warn once, when a lease that nobody renews has used four fifths of its ttl', async () => {
    const lease = await locks.acquire('k', { ttl: '10s', renew: false })
    await clock.advance(7_999)
    expect(events).toHaveLength(1)
    await clock.advance(1_500)
    expect(events.slice(1)).toEqual([
      { type: 'expiring', key: 'k', fence: lease.fence, remainingMs: expect.closeTo(1_898, -1) },
    ])
  })

  it('never carry a token', async () => {
    const holder = await locks.acquire('k')
    await locks.tryAcquire('k')
    await holder.release()
    const [random = ''] = /[\da-f]{32}/.exec(holder.token) ?? []
    expect(random).not.toBe('')
    expect(JSON.stringify(events)).not.toContain(random)
  })

  it('a listener that throws changes nothing', async () => {
    const heard: string[] = []
    locks = createLocker({
      store,
      clock,
      onEvent({ type }) {
        heard.push(type)
        throw new Error('broken listener')
      },
    })
    const lease = await locks.acquire('k')
    expect(await locks.tryAcquire('k')).toBeNull()
    store.next('renew', requestLost)
    await clock.advance(6_000)
    expect(lease.remaining()).toBeGreaterThan(5_000)
    await locks.revoke('k')
    await clock.advance(3_700)
    expect(lease.signal.aborted).toBe(true)
    expect(await lease.release()).toBe('expired')
    expect(await locks.withLock('k', () => 'result')).toBe('result')
    await locks.close()
    expect(heard).toEqual([
      ...['acquired', 'contended', 'renewal-unanswered', 'lost', 'released'],
      ...['acquired', 'released'],
    ])
  })

  describe('tell of an acquire that failed', () => {
    const failed = () => events.filter((event) => event.type === 'acquire-failed')
    /** The error of a call that rejects within `ms`. */
    async function error(call: Promise<unknown>, ms = 0): Promise<unknown> {
      const ending = follow(call, clock)
      await clock.advance(ms)
      expect(ending.state).toBe('rejected')
      return ending.reason
    }

    it('because the lock was held, with what the wait cost', async () => {
      await createLocker({ store, clock }).acquire('k', { ttl: '1h' })
      const cause = await error(locks.acquire('k', { wait: '2s' }), 2_000)
      const commands = store.called('acquire').length - 1
      expect(failed()).toEqual([
        { type: 'acquire-failed', key: 'k', reason: 'timeout', waitedMs: 2_000, commands, cause },
      ])
      expect(commands).toBeGreaterThan(1)
    })

    it('because the lock was held by this locker, which costs no command', async () => {
      await locks.acquire('k')
      const cause = await error(
        locks.withLock('k', { wait: '1s' }, () => undefined),
        1_000,
      )
      expect(failed()).toEqual([
        { type: 'acquire-failed', key: 'k', reason: 'timeout', waitedMs: 1_000, commands: 0, cause },
      ])
    })

    it('because the store gave no answer, or refused', async () => {
      store.always('acquire', requestLost)
      const unavailable = await error(locks.tryAcquire('k'), 2_000)
      store.always('acquire', refusing(new LeaseholdError('KIND_MISMATCH', 'Not a lock')))
      const other = await error(locks.acquire('k'))
      store.always('acquire', refusing(new StoreUnavailableError('refused', 'no', new Error('NOPERM'), true)))
      const denied = await error(locks.acquire('k'))
      expect(failed().map(({ reason, cause }) => [reason, cause])).toEqual([
        ['unavailable', unavailable],
        ['refused', other],
        ['refused', denied],
      ])
    })

    it('because the caller gave up, whose own reason is the cause, even if that is one of ours', async () => {
      await locks.acquire('k')
      const reason = new LeaseholdError('CLOSED', 'closed elsewhere')
      const stop = new AbortController()
      const ending = follow(locks.acquire('k', { signal: stop.signal }), clock)
      await clock.advance(300)
      stop.abort(reason)
      await clock.advance(0)
      expect(ending.reason).toBe(reason)
      expect(failed()).toEqual([
        { type: 'acquire-failed', key: 'k', reason: 'aborted', waitedMs: 300, commands: 0, cause: reason },
      ])
    })

    it('because the locker was closed', async () => {
      await locks.acquire('k')
      const waiting = follow(locks.acquire('k'), clock)
      const closing = locks.close({ grace: 0 })
      await clock.advance(10_000)
      await closing
      await error(locks.acquire('k'))
      expect(failed().map(({ reason, cause }) => [reason, cause === waiting.reason])).toEqual([
        ['closed', true],
        ['closed', false],
      ])
    })

    it('and not of what is no failure: nobody can take it now, or the call itself is wrong', async () => {
      await locks.acquire('k')
      expect(await locks.tryAcquire('k')).toBeNull()
      await error(locks.acquire('k', { ttl: -1 }))
      expect(failed()).toEqual([])
    })
  })

  it('tell once that releases cannot be announced', async () => {
    const unannounced: Fate = async ({ execute }) =>
      (await execute()).map((it) => ({ ...it, announced: false, subscribers: null }))
    store.always('release', unannounced)
    for (const key of ['a', 'b', 'a']) expect(await (await locks.acquire(key)).release()).toBe('released')
    expect(events.filter(({ type }) => type === 'unannounced')).toEqual([{ type: 'unannounced', key: 'a' }])
    const other: LockerEvent[] = []
    await createLocker({ store, clock, onEvent: (event) => other.push(event) }).withLock('k', () => undefined)
    expect(other.map(({ type }) => type)).toEqual(['acquired', 'unannounced', 'released'])
  })

  it('tell why releases are not heard, and that they are again, until the locker is closed', async () => {
    const notifier = new ScriptedNotifier()
    const told: LockerEvent[] = []
    const locks = createLocker({ store, notifier, clock, onEvent: (event) => told.push(event) })
    const cause = new Error('NOPERM')
    notifier.disconnect(cause)
    notifier.reconnect()
    expect(told).toEqual([{ type: 'disconnected', cause }, { type: 'reconnected' }])
    await locks.close()
    notifier.disconnect(cause)
    expect(told).toHaveLength(2)
  })
})

describe('a store and a notifier', () => {
  const prefixed = (prefix: string | undefined) => Object.assign(new ScriptedStore(clock), { prefix })
  const notifier = (prefix: string | undefined) => Object.assign(new ScriptedNotifier(), { prefix })

  it('with two prefixes are refused by name', () => {
    const options = { store: prefixed('app:'), notifier: notifier('lock:'), clock }
    expect(() => createLocker(options)).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        option: 'notifier',
        message: 'Option "notifier" must be one with prefix "app:", as the store; it has "lock:"',
      }),
    )
  })

  it('with one, or of which only one is known, are fine', () => {
    for (const [one, other] of [
      ['app:', 'app:'],
      ['app:', undefined],
      [undefined, 'lock:'],
    ])
      createLocker({ store: prefixed(one), notifier: notifier(other), clock })
  })
})
