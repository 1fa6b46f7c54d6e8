import {
  answered,
  callUntil,
  type Fate,
  follow,
  replyAfter,
  replyLost,
  requestLost,
  testLocker,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { AcquireTimeoutError, LeaseLostError } from '../errors.ts'
import { createLocker } from '../locker.ts'
import type { Lease } from './lease.ts'

const { signal: unstopped } = new AbortController()
const validMs = 10_000 - 102

let { locks, store, clock, elsewhere } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, elsewhere } = testLocker())
})

/** Work that ends when its lease is lost. */
const untilLost = ({ signal }: Lease): Promise<string> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve('stopped early'), { once: true })
  })

const lost = (reason: string) => expect.objectContaining({ code: 'LEASE_LOST', key: 'k', reason })

/** An operator elsewhere takes the lock away and somebody else gets it. */
async function supersede(): Promise<void> {
  await elsewhere.revoke('k')
  await store.acquire([{ key: 'k', acquisitionId: 'foreign', ttlMs: 60_000, fences: 1 }], callUntil(unstopped))
}

describe('withLock', () => {
  it('gives what the work returns, and gives the lock back', async () => {
    const result = await locks.withLock('k', async (lease) => {
      expect(lease.remaining()).toBe(validMs)
      expect(await locks.isLocked('k')).toBe(true)
      return 42
    })
    expect(result).toBe(42)
    expect(await locks.isLocked('k')).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('takes work that is not asynchronous', async () => {
    expect(await locks.withLock('k', ({ key }) => key)).toBe('k')
  })

  it('keeps the lock as long as the work takes', async () => {
    const working = follow(
      locks.withLock('k', () => new Promise((resolve) => clock.schedule(() => resolve('done'), 600_000))),
      clock,
    )
    await clock.advance(599_999)
    expect(await locks.isLocked('k')).toBe(true)
    await clock.advance(1)
    expect(working.value).toBe('done')
    expect(await locks.isLocked('k')).toBe(false)
  })

  it('does not run the work when it did not get the lock', async () => {
    await locks.acquire('k')
    const working = locks.withLock('k', { wait: 0 }, () => expect.unreachable())
    await expect(working).rejects.toBeInstanceOf(AcquireTimeoutError)
  })

  it('takes options for the acquire', async () => {
    await locks.withLock('k', { ttl: '3s' }, () => undefined)
    expect(store.calls[0]?.requests[0]?.ttlMs).toBe(3_000)
  })

  it('lets the work give the lock back itself', async () => {
    const result = await locks.withLock('k', async (lease) => {
      expect(await lease.release()).toBe('released')
      return 'early'
    })
    expect(result).toBe('early')
    expect(store.called('release')).toHaveLength(1)
  })
})

describe('work that fails', () => {
  const own = new Error('own')

  it.each([
    ['rejects', async () => Promise.reject(own)],
    [
      'throws',
      () => {
        throw own
      },
    ],
  ])('and %s: its own error comes out, and the lock is given back', async (_, work) => {
    await expect(locks.withLock('k', work)).rejects.toBe(own)
    expect(await locks.isLocked('k')).toBe(false)
  })

  it('while its lease is lost: its own error wins', async () => {
    const working = locks.withLock('k', async (lease) => {
      await elsewhere.revoke('k')
      await lease.renew({ ttl: '10s' }).catch(() => undefined)
      expect(lease.signal.aborted).toBe(true)
      throw own
    })
    await expect(working).rejects.toBe(own)
  })

  it('while the store has gone silent: its own error wins, within one command deadline', async () => {
    store.always('release', requestLost)
    const working = follow(
      locks.withLock('k', () => {
        throw own
      }),
      clock,
    )
    await clock.advance(2_000)
    expect(working.reason).toBe(own)
  })

  it.each([undefined, null, 'text', 0])(
    'with something that is no error (%j): it comes out as it is',
    async (thrown) => {
      const working = locks
        .withLock('k', () => Promise.reject(thrown))
        .then(
          () => expect.unreachable(),
          (reason: unknown) => ({ reason }),
        )
      expect(await working).toEqual({ reason: thrown })
    },
  )
})

describe('work whose lease is lost meanwhile', () => {
  it('rejects as lost with the reason, and keeps what the work returned', async () => {
    const working = follow(locks.withLock('k', untilLost), clock)
    await clock.advance(1_000)
    await elsewhere.revoke('k')
    await clock.advance(3_400)
    expect(working.reason).toBeInstanceOf(LeaseLostError)
    expect(working.reason).toEqual(lost('gone'))
    expect(working.reason).toMatchObject({ result: 'stopped early' })
  })

  it('to somebody else rejects as superseded, and that one keeps the lock', async () => {
    const working = follow(locks.withLock('k', untilLost), clock)
    await clock.advance(500)
    await supersede()
    await clock.advance(3_400)
    expect(working.reason).toEqual(lost('superseded'))
    expect(await locks.isLocked('k')).toBe(true)
    expect(store.called('release')).toHaveLength(1)
  })

  it('learns at the release that the entry was gone', async () => {
    const working = locks.withLock('k', async () => {
      await elsewhere.revoke('k')
      return 'done'
    })
    await expect(working).rejects.toEqual(lost('gone'))
    await expect(working).rejects.toMatchObject({ result: 'done' })
  })

  it('learns at the release that somebody else has the lock', async () => {
    const superseded: Fate = async ({ execute }) =>
      (await execute()).map((outcome) => ({ ...outcome, type: 'superseded', resent: false }))
    store.next('release', superseded)
    await expect(locks.withLock('k', () => 'done')).rejects.toEqual(lost('superseded'))
  })

  it('learns at the release that it was revoked, whoever has the lock since, and whatever was sent twice', async () => {
    const resent: Fate = async ({ execute }) => (await execute()).map((outcome) => ({ ...outcome, resent: true }))
    for (const fate of [answered, resent, replyLost]) {
      const locker = createLocker({ store, clock })
      const working = follow(
        locker.withLock('k', async () => {
          await supersede()
          store.next('release', fate)
          return 'done'
        }),
        clock,
      )
      await clock.advance(1_000)
      expect(working.reason).toEqual(lost('gone'))
      expect(working.reason).toMatchObject({ result: 'done' })
      await elsewhere.revoke('k')
    }
  })

  it('settles within 250 ms after the work, although the store does not answer', async () => {
    store.always('renew', requestLost)
    store.always('release', requestLost)
    const working = follow(locks.withLock('k', untilLost), clock)
    await clock.advance(validMs)
    await clock.advance(249)
    expect(working.state).toBe('pending')
    await clock.advance(1)
    expect(working.reason).toEqual(lost('unreachable'))
    expect(working.atMs).toBe(validMs + 250)
    expect(store.called('release')).toHaveLength(1)
    await clock.advance(60_000)
    expect(store.called('release')).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it('does not wait for the 250 ms when the store does answer', async () => {
    store.next('release', replyAfter(30))
    const working = follow(locks.withLock('k', { renew: false }, untilLost), clock)
    await clock.advance(validMs + 30)
    expect(working.reason).toEqual(lost('expired'))
    expect(working.atMs).toBe(validMs + 30)
  })

  it('is cut off by its longest hold', async () => {
    const working = follow(locks.withLock('k', { ttl: '2s', maxHold: '6s' }, untilLost), clock)
    await clock.advance(6_000)
    expect(working.reason).toEqual(lost('max-hold'))
    expect(await locks.isLocked('k')).toBe(false)
  })

  it('that never settles is not waited for by the lock: others get it', async () => {
    const working = follow(
      locks.withLock('k', { ttl: '2s', maxHold: '6s' }, () => new Promise(() => undefined)),
      clock,
    )
    await clock.advance(6_000)
    const other = follow(locks.acquire('k'), clock)
    await clock.advance(3_000)
    expect(other.state).toBe('fulfilled')
    expect(working.state).toBe('pending')
  })
})

describe('work whose release stays without an answer', () => {
  it('succeeds: nothing says that the lease was lost before the work was done', async () => {
    store.always('release', requestLost)
    const working = follow(
      locks.withLock('k', () => 'done'),
      clock,
    )
    await clock.advance(2_000)
    expect(working.value).toBe('done')
  })

  it('succeeds when the repeat finds the lock gone: the first try did that', async () => {
    store.next('release', replyLost)
    const working = follow(
      locks.withLock('k', () => 'done'),
      clock,
    )
    await clock.advance(1_000)
    expect(working.value).toBe('done')
  })

  it('succeeds when every try fails at once', async () => {
    store.always('release', unavailable('no'))
    const working = follow(
      locks.withLock('k', () => 'done'),
      clock,
    )
    await clock.advance(2_000)
    expect(working.value).toBe('done')
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
    expect(working.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'expired', result: 'done' })
  })
})

describe('the endings of a call can be told apart', () => {
  it('held, lost, unreachable, and the own error of the work', async () => {
    const codes: unknown[] = []
    const note = (promise: Promise<unknown>): Promise<unknown> =>
      promise.catch((error: { code?: string }) => codes.push(error.code ?? error))
    const holder = await locks.acquire('k')
    await note(locks.withLock('k', { wait: 0 }, () => undefined))
    await holder.release()
    await note(locks.withLock('k', () => locks.revoke('k')))
    const down: Fate = unavailable('no')
    store.always('acquire', down)
    const unreachable = note(locks.withLock('k', { wait: 0 }, () => undefined))
    await clock.advance(2_000)
    await unreachable
    store.always('acquire', ({ execute }) => execute())
    const own = new Error('own')
    await note(locks.withLock('k', () => Promise.reject(own)))
    expect(codes).toEqual(['ACQUIRE_TIMEOUT', 'LEASE_LOST', 'STORE_UNAVAILABLE', own])
  })
})
