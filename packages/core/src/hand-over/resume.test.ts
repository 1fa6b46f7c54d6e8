import {
  answered,
  type Fate,
  follow,
  ManualClock,
  refusing,
  replyAfter,
  replyLost,
  requestAfter,
  requestLost,
  ScriptedStore,
  type Settlement,
  testLocker,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseholdError, LeaseLostError, StoreUnavailableError } from '../errors.ts'
import { createLocker, type Lease, type Locker } from '../index.ts'
import type { DetachedLease } from './index.ts'
import { detach, handOverOf, resume } from './index.ts'

const setUp = () => testLocker({ name: 'here' })
let { locks, elsewhere, store, clock, events } = setUp()
/** A lease that was detached elsewhere. */
let message: DetachedLease
beforeEach(async () => {
  ;({ locks, elsewhere, store, clock, events } = setUp())
  message = await detach(await elsewhere.acquire('k', { ttl: '2s' }), { ttl: '30s' })
  store.calls.length = 0
})

const told = (): string[] => events.map(({ type }) => type)
const twice = (fate: Fate): [Fate, Fate] => [fate, fate]

/** Lets time pass while a call settles. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  const call = follow(promise, clock)
  for (let passedMs = 0; call.state === 'pending' && passedMs < 20_000; passedMs += 50) await clock.advance(50)
  return promise
}

async function resumed(options = {}, by = locks): Promise<Lease> {
  return settled(resume(by, message, options))
}

describe('a resumed lease', () => {
  it('is an ordinary one, under the name of who resumed it: renewed, fenced, released', async () => {
    const lease = await resumed({ ttl: '6s' })
    expect(lease).toMatchObject({ key: 'k', commands: 1, waitedMs: 0 })
    expect(lease.fence).toBeGreaterThan(message.fence)
    expect(await locks.inspect('k')).toMatchObject({ holder: 'here', fence: lease.fence })
    await clock.advance(50_000)
    lease.assertValid()
    expect(await lease.release()).toBe('released')
    expect(await locks.isLocked('k')).toBe(false)
    expect(told()).toEqual(['acquired', 'released'])
    expect(events[0]).toEqual({ type: 'acquired', key: 'k', fence: lease.fence, waitedMs: 0, commands: 1 })
    expect(clock.pending).toBe(0)
    const closing = follow(locks.close(), clock)
    await clock.advance(0)
    expect(closing.state).toBe('fulfilled')
  })

  it('is lost by its signal, as any other', async () => {
    const lease = await resumed()
    await elsewhere.revoke('k')
    await clock.advance(10_000)
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    expect(told()).toEqual(['acquired', 'lost'])
  })

  it('has a `maxHold` and a ttl of its own', async () => {
    const lease = await resumed({ ttl: '6s', maxHold: '10s' })
    await clock.advance(10_000)
    expect(lease.signal.reason).toMatchObject({ reason: 'max-hold' })
    expect(store.called('renew').every(({ requests }) => requests[0]?.ttlMs === 6_000)).toBe(true)
  })

  it('can be detached again', async () => {
    const next = await detach(await resumed(), { ttl: '1m' })
    expect((await resume(elsewhere, next)).fence).toBeGreaterThan(next.fence)
  })

  it('is not handed off: its release goes to the store, and wakes who waits in this process', async () => {
    const lease = await resumed()
    const waiting = follow(locks.acquire('k', { wait: '1h' }), clock)
    await clock.advance(2_000)
    expect(await lease.release()).toBe('released')
    await clock.advance(1)
    expect(waiting.value?.commands).toBeGreaterThan(0)
    expect(waiting.value?.fence).toBeGreaterThan(lease.fence)
  })

  it('ends with its locker: it is lost when the grace is over, and given back', async () => {
    const { signal } = await resumed()
    await settled(locks.close({ grace: 0 }))
    expect(signal.reason).toMatchObject({ reason: 'closed' })
    expect(await elsewhere.isLocked('k')).toBe(false)
  })

  it('takes its message over from any process, the one that detached it included', async () => {
    const again = await settled(detach(await locks.acquire('own'), { ttl: '1m' }).then((sent) => resume(locks, sent)))
    expect(await again.release()).toBe('released')
  })
})

describe('a message that comes twice', () => {
  it('is superseded the second time, while the first lease lives and afterwards', async () => {
    const lease = await resumed()
    const late = await resumed({}, elsewhere).catch((reason: unknown) => reason)
    expect(late).toBeInstanceOf(LeaseLostError)
    expect(late).toMatchObject({ key: 'k', reason: 'superseded' })
    await lease.release()
    await expect(resumed()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'superseded' })
    expect(await locks.isLocked('k')).toBe(false)
    // A refusal is an answer, as when `tryAcquire` answers null.
    expect(told()).toEqual(['acquired', 'released'])
  })

  it('brings one lease to one of those who resume it at once', async () => {
    const calls = await Promise.allSettled([resumed(), resumed(), resumed({}, elsewhere)])
    expect(calls.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
  })

  it('is gone when its time is over, and says nothing of the token', async () => {
    await clock.advance(30_000)
    const error = await resumed().catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    expect(JSON.stringify(error) + String(error)).not.toContain(message.token.slice(0, 32))
    expect(store.called('release')).toEqual([])
  })
})

describe('a lost answer', () => {
  it('is found by a repeat with the same acquisition id, dated by that repeat', async () => {
    store.next('resume', replyLost)
    const lease = await resumed()
    expect(lease.commands).toBe(2)
    const [first, second] = store.called('resume').map(({ requests }) => requests[0]?.acquisitionId)
    expect(second).toBe(first)
    expect(lease.remaining()).toBeGreaterThan(9_800)
    await clock.advance(60_000)
    lease.assertValid()
    expect(await lease.release()).toBe('released')
  })

  it('counts, though it comes after the next try was sent', async () => {
    store.next('resume', replyAfter(1_500), requestLost)
    const lease = await resumed({ renew: false })
    expect(store.called('release')).toEqual([])
    await clock.advance(3_000)
    lease.assertValid()
    expect(store.called('release')).toEqual([])
  })

  it('to a try after the one that was answered does no harm when it comes', async () => {
    store.next('resume', replyAfter(1_500), replyAfter(100))
    const lease = await resumed({ renew: false })
    await clock.advance(3_000)
    lease.assertValid()
    expect(store.called('release')).toEqual([])
  })

  it('is not undone if the repeat is told that another has the lock', async () => {
    store.next('resume', requestLost)
    const call = follow(resume(locks, message), clock)
    await clock.advance(500)
    await resume(elsewhere, message, { ttl: '1m' })
    await clock.advance(1_000)
    expect(call.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'superseded' })
    await clock.advance(10_000)
    expect(store.called('release')).toEqual([])
  })

  it('is asked for no more than the locker’s budget allows', async () => {
    const thrifty = createLocker({ store, clock, budget: 1 })
    store.next('resume', requestLost)
    await expect(resumed({}, thrifty)).rejects.toMatchObject({ executed: 'unknown' })
    store.next('resume', replyAfter(900))
    await expect(resumed({ ttl: '6s', minValidity: '5200ms' }, thrifty)).rejects.toMatchObject({ executed: 'unknown' })
    expect(store.called('resume')).toHaveLength(2)
  })

  it('is undone once the store is to be asked again', async () => {
    store.next('resume', async ({ execute }) => {
      await execute()
      return [{ type: 'unknown', executed: 'unknown', retryAfterMs: 3_000 }]
    })
    await expect(resumed()).rejects.toMatchObject({ executed: 'unknown' })
    await clock.advance(5_000)
    expect(store.called('resume')).toHaveLength(1)
    expect(store.called('release')[0]?.atMs).toBeGreaterThanOrEqual(3_000)
    expect(await elsewhere.isLocked('k')).toBe(false)
  })

  it('leaves nobody holding the lease: after the deadline it is given back, and the work acquires its key anew', async () => {
    store.next('resume', ...twice(replyLost))
    const error = await resumed().catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(StoreUnavailableError)
    expect(error).toMatchObject({ key: 'k', executed: 'unknown' })
    await clock.advance(0)
    expect(await elsewhere.isLocked('k')).toBe(false)
    await expect(resumed()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'superseded' })
    await (await locks.acquire('k')).release()
    expect(told()).toEqual(['acquire-failed', 'acquired', 'released'])
    expect(events[0]).toMatchObject({ reason: 'unavailable', commands: 2, cause: error })
  })

  it('to a request that was lost leaves the message as good as it was', async () => {
    store.next('resume', ...twice(requestLost))
    await expect(resumed()).rejects.toMatchObject({ executed: 'unknown' })
    await clock.advance(5_000)
    expect((await resumed()).fence).toBeGreaterThan(message.fence)
  })

  it('of which the server says that it did nothing undoes nothing', async () => {
    store.always('resume', unavailable('no'))
    await expect(resumed()).rejects.toMatchObject({ executed: 'no' })
    await clock.advance(10_000)
    expect(store.called('release')).toEqual([])
    store.always('resume', answered)
    await resumed()
  })

  it('is no loss of the message if the second try is refused for good: what the first took is given back', async () => {
    const error = new StoreUnavailableError('refused the request', 'no', undefined, true)
    store.next('resume', replyLost, refusing(error))
    await expect(resumed()).rejects.toMatchObject({ refused: true, executed: 'unknown' })
    await clock.advance(0)
    expect(await elsewhere.isLocked('k')).toBe(false)
    expect(events).toMatchObject([{ type: 'acquire-failed', reason: 'refused' }])
  })

  it('of somebody else’s request is none', async () => {
    store.next('resume', ...twice(async () => [{ type: 'granted', token: `${'f'.repeat(32)}.9`, fence: 9 } as never]))
    const lease = await resumed()
    expect(lease.commands).toBe(3)
    expect(lease.token).toContain('here.')
  })

  it('spent: its lease came and went, and nothing is granted', async () => {
    store.next('resume', replyLost, async (sending) => {
      await elsewhere.revoke('k')
      return sending.execute()
    })
    await expect(resumed()).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone' })
    expect(await locks.isLocked('k')).toBe(false)
  })
})

describe('a grant that comes late', () => {
  it('with too little validity left is asked for again, not given back', async () => {
    store.next('resume', replyAfter(900))
    const lease = await resumed({ ttl: '6s', minValidity: '5200ms' })
    expect(lease.commands).toBe(2)
    expect(lease.remaining()).toBeGreaterThan(5_200)
    expect(store.called('release')).toEqual([])
  })

  it('is given back if no time is left to ask again', async () => {
    store.always('resume', replyAfter(900))
    const startedMs = clock.monotonicMs()
    await expect(resumed({ ttl: '6s', minValidity: '5200ms' })).rejects.toMatchObject({ executed: 'unknown' })
    // Within one command deadline.
    expect(clock.monotonicMs() - startedMs).toBeLessThanOrEqual(2_000)
    await clock.advance(5_000)
    expect(await elsewhere.isLocked('k')).toBe(false)
  })

  it('after everything was given up is given back all the same', async () => {
    store.next('resume', ...twice(requestAfter(7_000)))
    await expect(resumed()).rejects.toMatchObject({ executed: 'unknown' })
    await clock.advance(10_000)
    expect(await elsewhere.isLocked('k')).toBe(false)
    expect(told()).toEqual(['acquire-failed'])
  })
})

describe('a caller that gives up', () => {
  const reason = new Error('enough')

  it('before, sends nothing', async () => {
    await expect(resumed({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(store.calls).toEqual([])
  })

  it('meanwhile, gets its own reason at once, and what was taken over is given back', async () => {
    const stop = new AbortController()
    store.next('resume', replyLost)
    const call = follow(resume(locks, message, { signal: stop.signal }), clock)
    await clock.advance(300)
    stop.abort(reason)
    await clock.advance(0)
    expect(call).toMatchObject({ state: 'rejected', reason })
    expect(await elsewhere.isLocked('k')).toBe(false)
    expect(events).toMatchObject([{ type: 'acquire-failed', reason: 'aborted' }])
  })

  it('at the very moment of the grant, too', async () => {
    const stop = new AbortController()
    store.next('resume', async (sending) => {
      const outcomes = await sending.execute()
      queueMicrotask(() => queueMicrotask(() => stop.abort(reason)))
      return outcomes
    })
    await expect(resumed({ signal: stop.signal })).rejects.toBe(reason)
    await clock.advance(0)
    expect(await elsewhere.isLocked('k')).toBe(false)
  })

  it('by closing the locker: the message is given back before the locker is closed', async () => {
    store.next('resume', replyLost)
    const call = follow(resume(locks, message), clock)
    await clock.advance(300)
    await settled(locks.close())
    expect(call.reason).toMatchObject({ code: 'CLOSED' })
    expect(await elsewhere.isLocked('k')).toBe(false)
    await expect(resumed()).rejects.toMatchObject({ code: 'CLOSED' })
  })
})

it('what goes on behind the caller’s back is handed to `waitUntil`', async () => {
  const tasks: Settlement<unknown>[] = []
  const worker = createLocker({ store, clock, waitUntil: (task) => tasks.push(follow(task, clock)) })
  store.next('resume', ...twice(replyLost))
  await expect(resumed({}, worker)).rejects.toBeInstanceOf(StoreUnavailableError)
  await clock.advance(0)
  expect(tasks).toMatchObject([{ state: 'fulfilled' }])
})

it('bad messages and options are refused by name, before anything is sent', async () => {
  const { key, token, fence } = message
  for (const bad of [
    undefined,
    'text',
    JSON.stringify(message),
    { key, fence },
    { key, token: 'x', fence },
    { token, fence },
    { key, token, fence: fence - 1 },
    { key, token, fence: 2 ** 53 },
    { key, token, fence: String(fence) },
  ]) {
    const error = await resume(locks, bad as never).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'INVALID_OPTION', option: 'message' })
    expect(String(error)).not.toContain(token.slice(0, 32))
  }
  await expect(resume(locks, { ...message, key: '' })).rejects.toMatchObject({ option: 'key' })
  for (const [option, options] of [
    ['ttl', { ttl: -1 }],
    ['wait', { wait: '5s' }],
    ['budget', { budget: 2 }],
    ['queue', { queue: 1 }],
  ] as const) {
    await expect(resume(locks, message, options as never)).rejects.toMatchObject({ code: 'INVALID_OPTION', option })
  }
  await expect(resume({} as Locker, message)).rejects.toMatchObject({ option: 'locks' })
  expect(store.calls).toEqual([])
  // Anything else that was sent with it does no harm.
  await resume(locks, { ...message, attempt: 3 } as DetachedLease)
  expect(Object.keys(store.called('resume')[0]?.requests[0] ?? {}).sort()).toEqual(
    ['acquisitionId', 'fence', 'key', 'token', 'ttlMs'].sort(),
  )
})

it('a key that holds something else is told by name', async () => {
  const mismatch = new LeaseholdError('KIND_MISMATCH', 'The key holds something that is not a lock')
  store.next('resume', refusing(mismatch))
  await expect(resumed()).rejects.toMatchObject({ code: 'KIND_MISMATCH', key: 'k' })
})

it('a store that offers no hand-over is refused by name', async () => {
  const behind = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  expect(handOverOf(behind)).toBeUndefined()
  await expect(resume(createLocker({ store: behind, clock }), message)).rejects.toMatchObject({ option: 'locks' })
})

it('where calls share nothing, each resumed lease has a watchdog of its own', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  try {
    const clock = new ManualClock()
    const store = new ScriptedStore(clock)
    const [from, to] = [createLocker({ store, clock }), createLocker({ store, clock })]
    const handed = async (key: string): Promise<Lease> =>
      resume(to, await detach(await from.acquire(key), { ttl: '1m' }))
    const [lease, other] = [await handed('k'), await handed('other')]
    await clock.advance(60_000)
    lease.assertValid()
    other.assertValid()
    expect(store.called('renew').every(({ requests }) => requests.length === 1)).toBe(true)
    await Promise.all([lease.release(), other.release()])
    expect(clock.pending).toBe(0)
  } finally {
    vi.unstubAllGlobals()
  }
})
