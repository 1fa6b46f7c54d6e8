import { createLocker } from '@leasehold/core'
import type { AcquireRequest } from '@leasehold/core/adapter'
import { memoryStore } from '@leasehold/core/memory'
import { beforeEach, describe, expect, it } from 'vitest'
import { callUntil } from '../call-until.ts'
import { requestLost } from '../fate.ts'
import { ManualClock } from '../manual-clock.ts'
import { ScriptedStore } from '../scripted-store.ts'
import { LockHistory } from './lock-history.ts'

const { signal } = new AbortController()
const wish = (acquisitionId: string): AcquireRequest => ({ key: 'k', acquisitionId, ttlMs: 10_000, fences: 17 })

let clock: ManualClock
let history: LockHistory

beforeEach(() => {
  clock = new ManualClock()
  history = new LockHistory(clock)
})

describe('what a store did', () => {
  it('is noted with its time, and a grant with whose request it was', async () => {
    const store = history.before(history.behind(memoryStore({ clock })), 'a')
    const locks = createLocker({ store, clock })
    const lease = await locks.acquire('k')
    await clock.advance(1_000)
    await lease.renew({ ttl: '20s' })
    await lease.release()
    await locks.acquire('l')
    await locks.revoke('l')
    expect(history.changes).toMatchObject([
      { type: 'granted', key: 'k', atMs: 0, expiresAtMs: 10_000, process: 'a', fence: lease.fence },
      { type: 'extended', key: 'k', atMs: 1_000, expiresAtMs: 21_000 },
      { type: 'released', key: 'k', atMs: 1_000 },
      { type: 'granted', key: 'l' },
      { type: 'revoked', key: 'l' },
    ])
  })

  it('is a new grant only once: a repeat of it extends it', async () => {
    const store = history.behind(memoryStore({ clock }))
    await store.acquire([wish('a')], callUntil(signal))
    await clock.advance(500)
    await store.acquire([wish('a')], callUntil(signal))
    await store.acquire([wish('b')], callUntil(signal))
    expect(history.changes).toMatchObject([{ type: 'granted' }, { type: 'extended', expiresAtMs: 10_500 }])
  })

  it('is nothing where a repeated release is answered like the first, and somebody else has the lock', async () => {
    const real = memoryStore({ clock })
    const release = async (): Promise<{ type: 'released'; announced: true; subscribers: 0 }[]> => [
      { type: 'released', announced: true, subscribers: 0 },
    ]
    const store = history.behind(Object.assign(real, { release }))
    await store.acquire([wish('a')], callUntil(signal))
    await store.release([{ key: 'k', acquisitionId: 'b' }], callUntil(signal))
    expect(history.changes).toHaveLength(1)
    await store.release([{ key: 'k', acquisitionId: 'a' }], callUntil(signal))
    expect(history.changes).toHaveLength(2)
  })
})

describe('what a process asked for', () => {
  it('is noted with when that was answered, or given up', async () => {
    const link = new ScriptedStore(clock)
    const locks = createLocker({ store: history.before(link, 'a'), clock })
    link.next('acquire', requestLost)
    const granted = locks.acquire('k')
    await clock.advance(1_000)
    await granted
    expect(history.requests).toEqual([
      { name: 'acquire', key: 'k', process: 'a', atMs: 0, endedAtMs: 1_000, answered: false },
      { name: 'acquire', key: 'k', process: 'a', atMs: 1_000, endedAtMs: 1_000, answered: true },
    ])
  })

  it('may be a check', async () => {
    const locks = createLocker({ store: history.before(new ScriptedStore(clock), 'a'), clock })
    await locks.inspect('k')
    expect(history.requests).toEqual([
      { name: 'inspect', key: 'k', process: 'a', atMs: 0, endedAtMs: 0, answered: true },
    ])
  })
})

describe('a call that is followed', () => {
  const waitingFor = { key: 'k', process: 'a', waitMs: 1_000, patienceMs: 1_000 }

  it('is noted with how it ended, and until when its lease lasted', async () => {
    const locks = createLocker({ store: history.behind(memoryStore({ clock })), clock })
    const first = locks.acquire('k', { maxHold: '3s' })
    history.follow(first, waitingFor)
    const stop = new AbortController()
    history.follow(locks.acquire('k', { signal: stop.signal }), waitingFor, stop.signal)
    history.follow(locks.acquire('k', { wait: '1s' }), waitingFor)
    history.follow(locks.tryAcquire('k'), waitingFor)
    await clock.advance(500)
    stop.abort()
    await clock.advance(3_000)
    history.left(await first)
    expect(history.waits).toMatchObject([
      { end: 'granted', endedAtMs: 0, leftAtMs: 3_000 },
      { end: 'aborted', endedAtMs: 500, abortedAtMs: 500 },
      { end: 'busy', endedAtMs: 1_000 },
      { end: 'busy', endedAtMs: 0 },
    ])
  })

  it('may find the store away, or fail', async () => {
    const link = new ScriptedStore(clock)
    link.always('acquire', requestLost)
    const locks = createLocker({ store: link, clock })
    history.follow(locks.acquire('k', { wait: '1s' }), waitingFor)
    history.follow(locks.acquire(''), waitingFor)
    await clock.advance(1_100)
    expect(history.waits).toMatchObject([{ end: 'unavailable' }, { end: 'failed' }])
  })
})
