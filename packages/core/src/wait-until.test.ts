import { follow, replyAfter, replyLost, ScriptedNotifier, type Settlement, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocker, type Locker, type LockerOptions } from './locker.ts'

/** The promises that were handed over, in order. */
let tasks: Settlement<unknown>[]
let locks: Locker

const locker = (options: Partial<LockerOptions> = {}): Locker => createLocker({ store, clock, ...options })

let { store, clock } = testLocker()
beforeEach(() => {
  ;({ store, clock } = testLocker())
  tasks = []
  locks = locker({ waitUntil: (task) => tasks.push(follow(task, clock)) })
})

const states = (): readonly string[] => tasks.map(({ state }) => state)

describe('waitUntil', () => {
  it('gets a release, in the very turn in which it begins, until that has ended', async () => {
    const lease = await locks.acquire('k')
    expect(tasks).toEqual([])
    store.next('release', replyAfter(300))
    void lease.release()
    expect(states()).toEqual(['pending'])
    await clock.advance(0)
    expect(store.called('release')).toHaveLength(1)
    await clock.advance(299)
    expect(states()).toEqual(['pending'])
    await clock.advance(1)
    expect(states()).toEqual(['fulfilled'])
  })

  it('gets a release once, however often it is called', async () => {
    const lease = await locks.acquire('k')
    void lease.release()
    await lease.release()
    await lease[Symbol.asyncDispose]()
    expect(tasks).toHaveLength(1)
  })

  it('gets the undoing of an acquire whose caller gave up, until nothing can be held by it', async () => {
    const stop = new AbortController()
    store.next('acquire', replyLost)
    const acquiring = follow(locks.acquire('k', { signal: stop.signal, ttl: '6s' }), clock)
    await clock.advance(100)
    store.next('release', replyAfter(500))
    stop.abort('gone')
    await clock.advance(0)
    expect([acquiring.reason, states()]).toEqual(['gone', ['pending']])
    await clock.advance(500)
    expect([states(), await locker().isLocked('k')]).toEqual([['fulfilled'], false])
  })

  it('gets the undoing of an acquire whose time was over', async () => {
    store.next('acquire', replyLost)
    const acquiring = follow(locks.acquire('k', { wait: '1s' }), clock)
    await clock.advance(1_000)
    expect(acquiring.state).toBe('rejected')
    await clock.advance(10_000)
    expect([states(), await locker().isLocked('k')]).toEqual([['fulfilled'], false])
  })

  it('gets the release of a lease that came in the moment its caller gave up', async () => {
    const stop = new AbortController()
    const own = locker({
      waitUntil: (task) => tasks.push(follow(task, clock)),
      onEvent: () => undefined,
    })
    store.next('acquire', async (sending) => {
      const outcomes = await sending.execute()
      queueMicrotask(() => stop.abort('gone'))
      return outcomes
    })
    const acquiring = follow(own.acquire('k', { signal: stop.signal }), clock)
    await clock.advance(20_000)
    expect(acquiring.reason).toBe('gone')
    expect(tasks.length).toBeGreaterThan(0)
    expect(new Set(states())).toEqual(new Set(['fulfilled']))
    expect(await locker().isLocked('k')).toBe(false)
  })

  it('gets a close that nobody awaits, and what that takes away', async () => {
    await locks.acquire('k')
    store.next('release', replyAfter(200))
    void locks.close({ grace: '1s' })
    expect(states()).toEqual(['pending'])
    await clock.advance(1_000)
    expect(states()).toEqual(['pending', 'pending', 'pending'])
    await clock.advance(200)
    expect(new Set(states())).toEqual(new Set(['fulfilled']))
    expect(await locker().isLocked('k')).toBe(false)
  })

  it('gets nothing while a lease is only held and renewed', async () => {
    await locks.acquire('k', { ttl: '3s' })
    await clock.advance(30_000)
    expect(store.called('renew').length).toBeGreaterThan(5)
    expect(tasks).toEqual([])
  })

  it('gets nothing that rejects, though a store or notifier does', async () => {
    const notifier = new ScriptedNotifier()
    notifier.close = () => Promise.reject(new Error('cannot be closed'))
    const own = locker({ notifier, waitUntil: (task) => tasks.push(follow(task, clock)) })
    await own.acquire('k')
    store.always('release', () => Promise.reject(new Error('no store may reject')))
    const closing = follow(own.close({ grace: 0 }), clock)
    await clock.advance(20_000)
    expect(closing.state).toBe('rejected')
    expect(states()).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('Illegal invocation')
      },
    ],
    ['rejects', () => Promise.reject(new Error('too late'))],
  ])('that %s changes nothing', async (_, waitUntil) => {
    const own = locker({ waitUntil })
    expect(await own.withLock('k', () => 'done')).toBe('done')
    const lease = await own.acquire('k')
    expect(await lease.release()).toBe('released')
    await own.close()
    expect(clock.pending).toBe(0)
  })

  it('is called without a receiver, as any function', async () => {
    const receivers: unknown[] = []
    const own = locker({
      waitUntil(this: unknown) {
        receivers.push(this)
      },
    })
    await (await own.acquire('k')).release()
    expect(receivers).toEqual([undefined])
  })

  it.each([1, 'waitUntil', {}, true])('must be a function, and is not: %j', (waitUntil) => {
    expect(() => locker({ waitUntil: waitUntil as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', option: 'waitUntil' }),
    )
  })

  it('is an option of the locker, not of a call', async () => {
    await expect(locks.acquire('k', { waitUntil: () => undefined } as never)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      option: 'waitUntil',
    })
  })
})
