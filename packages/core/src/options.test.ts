import { ManualClock, ScriptedStore, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { InvalidOptionError } from './errors.ts'
import { createLocker, type LockerOptions } from './locker.ts'
import { memoryNotifier, memoryStore } from './memory/index.ts'
import { type AcquireOptions, callSettings, type Plan, planFor } from './options.ts'
import { keyLayout } from './redis/keys.ts'
import { backoff, poll } from './timing/backoff.ts'

const planOf = (key: string, ...layers: readonly (AcquireOptions | undefined)[]): Plan =>
  planFor(key, callSettings(...layers)())

/** Options as an untyped caller may write them. */
const untyped = (options: Record<string, unknown>): AcquireOptions => options as AcquireOptions

const refused = (option: string) => expect.objectContaining({ code: 'INVALID_OPTION', option })

describe('the options of an acquire', () => {
  it('have the same defaults for every call', () => {
    expect(planOf('k')).toMatchObject({
      key: 'k',
      ttlMs: 10_000,
      waitMs: 10_000,
      signal: undefined,
      renew: true,
      maxHoldMs: undefined,
      minValidityMs: 3_334,
      recheckMs: undefined,
      budget: { left: Number.POSITIVE_INFINITY },
    })
  })

  it('of a later layer win', () => {
    const plan = planOf('k', { ttl: '5s', wait: '1s', renew: false }, { ttl: '7s' }, { wait: 0 })
    expect(plan).toMatchObject({ ttlMs: 7_000, waitMs: 0, renew: false })
  })

  it('given as undefined do not undo what the locker says', async () => {
    expect(planOf('k', { ttl: '5s' }, untyped({ ttl: undefined })).ttlMs).toBe(5_000)
  })

  it('keep a third of the ttl as least validity, also where the ttl is a later layer', () => {
    expect(planOf('k', { ttl: '30s' }, { ttl: '3s' }).minValidityMs).toBe(1_000)
  })

  it.each([1, 2, 3, 4, '4ms'] as const)('a ttl of %j leaves no time to hold the lease and is refused', (ttl) => {
    expect(() => planOf('k', { ttl })).toThrow(refused('ttl'))
  })

  it('the smallest ttl that leaves time to hold the lease is accepted', () => {
    expect(planOf('k', { ttl: 5 })).toMatchObject({ ttlMs: 5, minValidityMs: 2 })
  })

  it('a least validity that no lease could ever have is refused', () => {
    expect(planOf('k', { ttl: 1_000, minValidity: 988 }).minValidityMs).toBe(988)
    expect(() => planOf('k', { ttl: 1_000, minValidity: 989 })).toThrow(refused('minValidity'))
    expect(() => planOf('k', { ttl: '1s', minValidity: '2s' })).toThrow(refused('minValidity'))
  })

  it.each(['ttl', 'wait', 'maxHold', 'minValidity', 'recheck'])('%s is a duration', (name) => {
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 'soon', '5', true, {}]) {
      expect(() => planOf('k', untyped({ [name]: bad }))).toThrow(refused(name))
    }
  })

  it.each(['ttl', 'maxHold', 'minValidity', 'recheck'])('%s is not 0', (name) => {
    expect(() => planOf('k', untyped({ [name]: 0 }))).toThrow(refused(name))
  })

  it.each([0, -1, 0.5, Number.NaN, Number.NEGATIVE_INFINITY, 'many', '5', {}])(
    'a budget of %j is refused',
    (budget) => {
      expect(() => planOf('k', untyped({ budget }))).toThrow(refused('budget'))
    },
  )

  it.each(['yes', 1, 0, null, {}])('renew: %j is refused', (renew) => {
    expect(() => planOf('k', untyped({ renew }))).toThrow(refused('renew'))
  })

  it.each(['backoff', 7, {}, () => 50])('a strategy that is none is refused: %j', (strategy) => {
    expect(() => planOf('k', untyped({ strategy }))).toThrow(refused('strategy'))
  })

  it.each(['fifo', '', 0, 1, true, false, null, {}, () => 1])('a queue that is none is refused: %j', (queue) => {
    expect(() => planOf('k', untyped({ queue }))).toThrow(refused('queue'))
  })

  it.each(['stop', {}, null, new AbortController(), { aborted: false }])('a signal that is none: %j', (signal) => {
    expect(() => planOf('k', untyped({ signal }))).toThrow(refused('signal'))
  })

  it.each(['timeout', 'TTL', 'retries', 'retryDelay', 'within', 'holdAtLeast', '__proto__x', ''])(
    'an option that is not known is refused by its name, not ignored: %j',
    (name) => {
      expect(() => planOf('k', untyped({ [name]: 1 }))).toThrow(refused(name))
      expect(() => planOf('k', untyped({ [name]: undefined }))).toThrow(refused(name))
    },
  )
})

describe('a key', () => {
  it.each([
    ...['k', 'coupon:issue:42', ' ', '\n', '\0', '{42}:order', 'größe', '鍵', '🔑', '\u{10ffff}'],
    ...['x'.repeat(512), '鍵'.repeat(170), '🔑'.repeat(128)],
  ])('may be any well-formed text of up to 512 bytes: %j', (key) => {
    expect(planOf(key).key).toBe(key)
  })

  it.each([
    ...['', '\ud800', '\udc00', 'a\ud83d', '\ude00a', '\udc00\ud800', 'ok\ud800ok'],
    ...['x'.repeat(513), '鍵'.repeat(171), '🔑'.repeat(129), 'x'.repeat(1_000_000)],
    ...[undefined, null, 42, true, {}, ['k'], Object('k')],
  ])('is refused by name otherwise', (key) => {
    const planning = () => planOf(key as string)
    expect(planning).toThrow(InvalidOptionError)
    expect(planning).toThrow(refused('key'))
  })
})

describe('a locker', () => {
  let { locks, store, clock } = testLocker()
  beforeEach(() => {
    ;({ locks, store, clock } = testLocker())
  })

  it.each(['orders-7', 'A_b-9', 'x', 'x'.repeat(64)])('may be named %j', (name) => {
    expect(() => createLocker({ store, name })).not.toThrow()
  })

  it.each(['', ' ', 'a.b', 'a b', 'ä', 'a\n', 'x'.repeat(65), 7, null, ['orders']])('is not named %j', (name) => {
    expect(() => createLocker({ store, name: name as string })).toThrow(refused('name'))
  })

  it('refuses bad and unknown defaults when it is made', () => {
    const make = (options: Record<string, unknown>) => () => createLocker({ store, ...options } as LockerOptions)
    expect(make({ ttl: -1 })).toThrow(refused('ttl'))
    expect(make({ wait: 'for ever' })).toThrow(refused('wait'))
    expect(make({ retries: 3 })).toThrow(refused('retries'))
    expect(make({ signal: new AbortController().signal })).toThrow(refused('signal'))
    expect(make({ ttl: '1s', minValidity: '5s' })).toThrow(refused('minValidity'))
  })

  it.each([undefined, null, {}, 'redis://localhost', () => undefined])('refuses a store that is none: %j', (none) => {
    const options = { store: none } as unknown as LockerOptions
    expect(() => createLocker(options)).toThrow(refused('store'))
  })

  it.each([undefined, null, 5, 'redis://localhost'])('refuses options that are none: %j', (none) => {
    expect(() => createLocker(none as unknown as LockerOptions)).toThrow(refused('options'))
  })

  it('refuses a notifier, and a listener, that are none', () => {
    const make = (options: Record<string, unknown>) => () => createLocker({ store, ...options } as LockerOptions)
    for (const none of [{}, 'redis', store]) expect(make({ notifier: none })).toThrow(refused('notifier'))
    for (const none of [{}, 'log', true]) expect(make({ onEvent: none })).toThrow(refused('onEvent'))
  })

  it.each([null, 5, '5s', true])('refuses options of a call that are none: %j', async (none) => {
    const options = none as unknown as undefined
    await expect(locks.acquire('k', options)).rejects.toThrow(refused('options'))
    await expect(locks.tryAcquire('k', options)).rejects.toThrow(refused('options'))
    await expect(locks.withLock('k', options, () => undefined)).rejects.toThrow(refused('options'))
    await expect(locks.close(options)).rejects.toThrow(refused('options'))
    expect(() => locks.for('k', options)).toThrow(refused('options'))
  })

  it.each([undefined, null, {}, 'work'])('refuses work that is none, and takes no lock for it: %j', async (none) => {
    await expect(locks.withLock('k', none as unknown as () => void)).rejects.toThrow(refused('work'))
    expect(store.calls).toEqual([])
  })

  it.each([Number.NaN, -1, 'soon', undefined])('refuses a strategy that answers %j', async (delayMs) => {
    const strategy = { delayMs: () => delayMs as number }
    await locks.acquire('k')
    await expect(createLocker({ store, clock }).acquire('k', { strategy })).rejects.toThrow(refused('strategy'))
  })

  it('refuses bad options of a bound key when they are bound', () => {
    expect(() => locks.for('', {})).toThrow(refused('key'))
    expect(() => locks.for('k', { ttl: 0 })).toThrow(refused('ttl'))
    expect(() => locks.for('k', untyped({ retries: 3 }))).toThrow(refused('retries'))
  })

  it('rejects, rather than throws, when a call has a bad option', async () => {
    const work = vi.fn()
    const bad = { ttl: Number.NaN }
    await expect(locks.acquire('k', bad)).rejects.toThrow(refused('ttl'))
    await expect(locks.tryAcquire('k', bad)).rejects.toThrow(refused('ttl'))
    await expect(locks.withLock('k', bad, work)).rejects.toThrow(refused('ttl'))
    await expect(locks.for('k').acquire(bad)).rejects.toThrow(refused('ttl'))
    expect(work).not.toHaveBeenCalled()
  })

  it('rejects a bad key in every call', async () => {
    const calls = [
      () => locks.acquire(''),
      () => locks.tryAcquire(''),
      () => locks.withLock('', () => undefined),
      () => locks.inspect(''),
      () => locks.isLocked(''),
      () => locks.revoke(''),
    ]
    for (const call of calls) await expect(call()).rejects.toThrow(refused('key'))
  })

  it.each(['wait', 'recheck', 'strategy', 'budget'])(
    'tryAcquire refuses %s, which means nothing to it',
    async (name) => {
      await expect(locks.tryAcquire('k', untyped({ [name]: 1 }))).rejects.toThrow(refused(name))
    },
  )

  it('tryAcquire takes what is undefined for not given', async () => {
    await expect(locks.tryAcquire('k', untyped({ wait: undefined }))).resolves.not.toBeNull()
  })

  it('tryAcquire takes a locker whose defaults are about waiting', async () => {
    const waiting = createLocker({ store, clock, wait: '1m', recheck: '5s', budget: 7 })
    expect(await waiting.tryAcquire('k')).not.toBeNull()
  })

  it('validates before anything happens: no store call, no randomness, no timer', async () => {
    const strong = vi.spyOn(crypto, 'getRandomValues')
    const bad = [{ ttl: 0 }, { wait: -1 }, { minValidity: '1m' }, { budget: 0 }, { signal: {} }, { timeout: 1 }]
    for (const options of bad) {
      await expect(locks.acquire('k', untyped(options))).rejects.toThrow(InvalidOptionError)
      await expect(locks.tryAcquire('k', untyped(options))).rejects.toThrow(InvalidOptionError)
      await expect(locks.withLock('k', untyped(options), () => undefined)).rejects.toThrow(InvalidOptionError)
    }
    await expect(locks.acquire('\ud800')).rejects.toThrow(InvalidOptionError)
    expect([store.calls.length, clock.pending, strong.mock.calls.length]).toEqual([0, 0, 0])
    strong.mockRestore()
  })

  it('names the bad option although the signal is aborted as well', async () => {
    const signal = AbortSignal.abort(new Error('stop'))
    await expect(locks.acquire('k', { ttl: 0, signal })).rejects.toThrow(refused('ttl'))
  })

  it('a ttl of 123.45 ms is asked for as 124 ms', async () => {
    await locks.acquire('k', { ttl: 123.45 })
    expect(store.calls[0]?.requests[0]?.ttlMs).toBe(124)
  })
})

describe('a likely mistake', () => {
  const store = new ScriptedStore(new ManualClock())
  const make = (options: unknown) => () => createLocker(options as LockerOptions)
  const plan =
    (options: unknown, key: unknown = 'k') =>
    () =>
      planOf(key as string, options as AcquireOptions)
  /** Shaped like a client of ioredis, node-redis or Upstash. */
  const client = { get: () => null, eval: () => null }

  it.each([
    ['many keys', plan({}, ['a', 'b']), 'key', /one key for each call/],
    ['a number for options', plan(5_000), 'options', /such as \{ ttl: 5000 \}; .* \{ wait: 5000 \}/],
    ['a duration for options', plan('5s'), 'options', /\{ wait: "5s" \}/],
    ['timeout', plan({ timeout: 1 }), 'timeout', /is not known; it is called "wait" here/],
    ['acquireTimeout', plan({ acquireTimeout: 1 }), 'acquireTimeout', /called "wait"/],
    ['lockTimeout', plan({ lockTimeout: 1 }), 'lockTimeout', /called "ttl"/],
    ['retryCount', plan({ retryCount: 3 }), 'retryCount', /"wait" is over, and "budget"/],
    ['acquireAttemptsLimit', plan({ acquireAttemptsLimit: 3 }), 'acquireAttemptsLimit', /"wait" is over/],
    ['retryDelay', plan({ retryDelay: 3 }), 'retryDelay', /"strategy" says/],
    ['autoExtend', plan({ autoExtend: true }), 'autoExtend', /called "renew" here/],
    ['automaticExtensionThreshold', plan({ automaticExtensionThreshold: 1 }), 'automaticExtensionThreshold', /"renew"/],
    ['driftFactor', plan({ driftFactor: 0.01 }), 'driftFactor', /without an option/],
    [
      'a client for a store',
      make({ store: client }),
      'store',
      /not a client: createLocker\(\{ \.\.\.ioredisBackend\(client\) \}\)/,
    ],
    ['a client alone', make(client), 'store', /not a client/],
    ['no store', make({}), 'store', /must be a store: createLocker/],
    ['a client for a notifier', make({ store, notifier: client }), 'notifier', /such as that of ioredisBackend/],
    ['an empty prefix', () => keyLayout(''), 'prefix', /is not empty; leave it out for "lock:"/],
    ['days', plan({ ttl: '45d' }), 'ttl', /; write "1080h"$/],
    ['a space', plan({ ttl: '5 s' }), 'ttl', /; write "5s"$/],
    ['a long unit', plan({ wait: '5sec' }), 'wait', /; write "5s"$/],
    ['a number as text', plan({ wait: '5000' }), 'wait', /write 5000 for milliseconds, or "5000s"/],
    ['no duration at all', plan({ ttl: '1:30' }), 'ttl', /"250ms", "5s", "2m" or "1h"$/],
    ['a ttl of 1', plan({ ttl: 1 }), 'ttl', /allow a longer ttl/],
  ])('is told what was meant: %s', (_, call, option, message) => {
    expect(call).toThrow(expect.objectContaining({ option, message: expect.stringMatching(message) }))
  })

  it('is told what was meant: the options after the work', async () => {
    const locks = createLocker({ store })
    const swapped = locks.withLock as (...args: unknown[]) => Promise<unknown>
    await expect(swapped('k', () => undefined, { ttl: 1 })).rejects.toThrow('withLock(key, options, work)')
  })

  it('gets no hint where nobody can tell', () => {
    expect(plan({ colour: 1 })).toThrow(/is not known$/)
    expect(plan({ ttl: {} })).toThrow(/such as "5m"$/)
  })

  it('gets no hint that is about something else: only the options of a call have a ttl', () => {
    for (const make of [poll, backoff, memoryStore] as ((options: unknown) => unknown)[]) {
      expect(() => make(500)).toThrow(/must be an object$/)
    }
    expect(() => memoryStore({ ttl: 5 } as object)).toThrow(/"ttl" is not known$/)
    const notifier = memoryNotifier as (store?: unknown) => unknown
    for (const given of [undefined, client]) expect(() => notifier(given)).toThrow(/the memory store of the locker$/)
  })

  it('costs an edge bundle nothing: there only the fact is said', async () => {
    const edge = await import('./hints/hints.edge.ts')
    const full = await import('./hints/hints.ts')
    expect(Object.keys(edge).sort()).toEqual(Object.keys(full).sort())
    expect([edge.hint('ttl', '45d'), edge.unknownOption('timeout')]).toEqual([undefined, undefined])
    expect(edge.unavailable('refused the request', 'NOPERM x')).toBe('The lock store refused the request: NOPERM x')
    expect(edge.unavailable('refused the request')).toContain('check that it is reachable')
  })
})
