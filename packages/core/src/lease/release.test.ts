import {
  callUntil,
  type Fate,
  follow,
  refusing,
  replyAfter,
  replyLost,
  requestAfter,
  requestLost,
  testLocker,
  unavailable,
} from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { LeaseholdError, StoreUnavailableError } from '../errors.ts'
import { createLocker } from '../locker.ts'
import { mostUnderWay } from '../store/figures.ts'
import type { Lease } from './lease.ts'

const { signal: unstopped } = new AbortController()
const validMs = 10_000 - 102
const commandDeadlineMs = 2_000

const setUp = () => testLocker({ renew: false })
let { locks, store, clock, events, eventsOf, elsewhere } = setUp()
beforeEach(() => {
  ;({ locks, store, clock, events, eventsOf, elsewhere } = setUp())
})

/** Somebody elsewhere takes the lock. */
const occupy = async (): Promise<void> => {
  await store.acquire([{ key: 'k', acquisitionId: 'foreign', ttlMs: 60_000, fences: 1 }], callUntil(unstopped))
}

/** The store does not know how the lease ended: it has lost its record, or is a different implementation. */
const forgotten =
  (resent: boolean): Fate =>
  async ({ execute }) =>
    (await execute()).map((outcome) => ({ ...outcome, type: 'gone', resent }))

/** The client may have sent its request twice. */
const resent: Fate = async ({ execute }) => (await execute()).map((outcome) => ({ ...outcome, resent: true }))

/** Breaks the rules of the port. */
const broken: Fate = async () => {
  throw new Error('broken adapter')
}

const releasedAtMs = (): number[] => store.called('release').map(({ atMs }) => atMs)

describe('a release', () => {
  it('frees the lock, by one command with the whole token', async () => {
    const lease = await locks.acquire('k')
    expect(await lease.release()).toBe('released')
    expect(store.called('release')).toMatchObject([{ requests: [{ key: 'k', token: lease.token }] }])
    expect(await locks.isLocked('k')).toBe(false)
    expect(clock.pending).toBe(0)
  })

  it('called again gives the first answer, and asks nobody', async () => {
    const lease = await locks.acquire('k')
    const answers = await Promise.all([lease.release(), lease.release()])
    await occupy()
    expect([...answers, await lease.release()]).toEqual(['released', 'released', 'released'])
    expect(store.called('release')).toHaveLength(1)
    expect(eventsOf('released')).toHaveLength(1)
    expect(await locks.isLocked('k')).toBe(true)
  })

  it('of a lease whose entry is no longer there says expired', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(10_001)
    expect(await lease.release()).toBe('expired')
    const revoked = await locks.acquire('k')
    await elsewhere.revoke('k')
    expect(await revoked.release()).toBe('expired')
  })

  it('of a lease that somebody else has by now says superseded, and leaves that one alone', async () => {
    const lease = await locks.acquire('k', { ttl: '1s' })
    await clock.advance(1_200)
    const successor = await elsewhere.acquire('k')
    expect(await lease.release()).toBe('superseded')
    expect(await locks.tryAcquire('k')).toBeNull()
    expect(await successor.release()).toBe('released')
    expect(await locks.tryAcquire('k')).not.toBeNull()
  })

  it.each([
    ['never left', true],
    ['was certainly not carried out', false],
  ])('whose first attempt %s counts its validity to a later one', async (_, isUnready) => {
    const lease = await locks.acquire('k', { ttl: '3s' })
    await clock.advance(2_900)
    const notCarriedOut: Fate = async ({ requests }) => {
      await new Promise<void>((resolve) => clock.schedule(resolve, 110))
      return requests.map(() => ({ type: 'unknown', executed: 'no' }) as const)
    }
    if (isUnready) {
      store.whenReady = async (_key, call) => {
        await new Promise<void>((resolve) => call.onOver(resolve))
        return { type: 'unknown', executed: 'no' }
      }
      clock.schedule(() => {
        store.whenReady = () => undefined
      }, 200)
      store.next('release', unavailable('unknown'))
    } else store.next('release', notCarriedOut, unavailable('unknown'))
    const release = follow(lease.release(), clock)
    await clock.advance(105)
    await occupy()
    await clock.advance(3_000)
    expect(release.value).toBe('unknown')
  })

  it('of an expired lease is answered by one command: no retry is worth it', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(20_000)
    expect(await lease.release()).toBe('expired')
    expect(releasedAtMs()).toEqual([20_000])
  })

  it('within the drift allowance of an expired lease still frees the lock', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(validMs + 50)
    expect(lease.signal.aborted).toBe(true)
    expect(await lease.release()).toBe('released')
  })

  it('is told with its outcome, its fence and how long the lease was held', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(1_234)
    await lease.release()
    expect(events.at(-1)).toEqual({
      type: 'released',
      key: 'k',
      fence: lease.fence,
      outcome: 'released',
      heldMs: 1_234,
    })
  })
})

describe('a release without an answer', () => {
  it('is repeated, and settles within one command deadline as unknown; it never rejects', async () => {
    const lease = await locks.acquire('k')
    store.always('release', requestLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(commandDeadlineMs - 1)
    expect(releasing.state).toBe('pending')
    await clock.advance(1)
    expect(releasing).toMatchObject({ state: 'fulfilled', value: 'unknown' })
    expect(releasedAtMs()).toEqual([0, 1_000])
    expect(clock.pending).toBe(0)
  })

  it('that fails at once is repeated a few times, not in a hot loop', async () => {
    const lease = await locks.acquire('k')
    store.always('release', unavailable('no'))
    const releasing = follow(lease.release(), clock)
    await clock.advance(commandDeadlineMs)
    expect(releasing.value).toBe('unknown')
    expect(releasedAtMs().length).toBeGreaterThan(3)
    expect(releasedAtMs().length).toBeLessThan(12)
  })

  it('whose repeat finds the lock gone freed it: released', async () => {
    const lease = await locks.acquire('k')
    store.next('release', replyLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(1_000)
    expect(releasing.value).toBe('released')
    expect(releasedAtMs()).toHaveLength(2)
  })

  it('whose repeat finds a successor freed the lock for that: released', async () => {
    const lease = await locks.acquire('k')
    store.next('release', replyLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(500)
    await occupy()
    await clock.advance(500)
    expect(releasing.value).toBe('released')
    expect(await locks.isLocked('k')).toBe(true)
  })

  it('whose repeat finds nothing at all freed it if the lease was still valid when the first was sent', async () => {
    const lease = await locks.acquire('k')
    store.next('release', replyLost, forgotten(false))
    const releasing = follow(lease.release(), clock)
    await clock.advance(1_000)
    expect(releasing.value).toBe('released')
  })

  it('that left after the lease had ended freed nothing, though the wall clock was set back in the meantime', async () => {
    const lease = await locks.acquire('k', { ttl: '6s', renew: false })
    await clock.advance(5_930)
    store.next('release', requestLost)
    const releasing = follow(lease.release(), clock)
    clock.block(300)
    clock.stepWall(-500)
    expect(await elsewhere.tryAcquire('k')).not.toBeNull()
    await clock.advance(commandDeadlineMs)
    expect(releasing.value).toBe('unknown')
  })

  it('of a lease that was revoked before says expired: that is a loss, however often it was sent', async () => {
    for (const fates of [[replyLost], [requestLost], [resent], [replyLost, resent]]) {
      const lease = await locks.acquire('k')
      await elsewhere.revoke('k')
      await occupy()
      store.next('release', ...fates)
      const releasing = follow(lease.release(), clock)
      await clock.advance(2_000)
      expect(releasing.value).toBe('expired')
      expect(events.at(-1)).toMatchObject({ type: 'released', outcome: 'expired' })
      expect(await locks.revoke('k')).toBe(true)
    }
  })

  it('that was revoked after its first try was carried out is released', async () => {
    const lease = await locks.acquire('k')
    store.next('release', replyLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(500)
    await occupy()
    await elsewhere.revoke('k')
    await clock.advance(500)
    expect(releasing.value).toBe('released')
  })

  it('whose repeat is told that it was carried out leaves nobody to be told: no event about announcements', async () => {
    const lease = await locks.acquire('k')
    store.next('release', replyLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(1_000)
    expect(releasing.value).toBe('released')
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released'])
  })

  it('whose repeat finds the lease frees it', async () => {
    const lease = await locks.acquire('k')
    store.next('release', requestLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(1_000)
    expect(releasing.value).toBe('released')
    expect(await locks.isLocked('k')).toBe(false)
  })

  it('counts as released although the validity ended before the repeat: it had not when the first was sent', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(validMs - 10)
    store.next('release', replyLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(1_000)
    expect(releasing.value).toBe('released')
  })

  it('after the validity had ended is unknown: somebody else may have had the lock in between', async () => {
    const lease = await locks.acquire('k')
    clock.block(validMs + 200)
    store.next('release', replyLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(commandDeadlineMs)
    expect(releasing.value).toBe('unknown')
  })

  it('that left only after the validity had ended, behind other commands, is unknown', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(validMs - 50)
    const others = await Promise.all(Array.from({ length: 2 * mostUnderWay }, (_, at) => locks.acquire(`other-${at}`)))
    // Two releases of one turn share a command. As many commands as may be in flight hold back the next.
    for (let at = 0; at < others.length; at += 2) {
      store.next('release', replyAfter(300))
      void others[at]?.release()
      void others[at + 1]?.release()
      await clock.advance(0)
    }
    store.next('release', replyLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(200)
    expect(await elsewhere.tryAcquire('k')).not.toBeNull()
    expect(store.called('release')).toHaveLength(mostUnderWay)
    await clock.advance(commandDeadlineMs)
    expect(releasing.value).toBe('unknown')
  })

  it('is told apart from one that was certainly not carried out: then what the repeat finds is the truth', async () => {
    const lease = await locks.acquire('k')
    await elsewhere.revoke('k')
    store.next('release', unavailable('no'))
    const releasing = follow(lease.release(), clock)
    await clock.advance(1_000)
    expect(releasing.value).toBe('expired')
  })

  it('that the client itself may have sent twice counts as a repeat', async () => {
    const lease = await locks.acquire('k')
    store.next('release', forgotten(true))
    expect(await lease.release()).toBe('released')
    const late = await locks.acquire('k')
    clock.block(validMs + 200)
    store.next('release', resent)
    expect(await late.release()).toBe('unknown')
  })

  it('does not raise an alarm later: nothing is lost by releasing', async () => {
    const lease = await locks.acquire('k')
    const { signal } = lease
    store.always('release', requestLost)
    follow(lease.release(), clock)
    await clock.advance(60_000)
    expect(signal.aborted).toBe(false)
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released'])
  })

  it('that the store refuses for good is unknown, and does not reject', async () => {
    const lease = await locks.acquire('k')
    store.always('release', refusing(new LeaseholdError('STORE_UNAVAILABLE', 'No permission')))
    expect(await lease.release()).toBe('unknown')
    expect(releasedAtMs()).toHaveLength(1)
  })

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

describe('a release after the loss', () => {
  it('is sent once and given a command deadline', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(validMs)
    expect(lease.signal.aborted).toBe(true)
    store.always('release', requestLost)
    const releasing = follow(lease.release(), clock)
    await clock.advance(commandDeadlineMs)
    expect(releasing.value).toBe('unknown')
    expect(releasedAtMs()).toHaveLength(1)
  })

  it('is sent once also to a store that fails at once', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(validMs)
    expect(lease.signal.aborted).toBe(true)
    store.always('release', unavailable('no'))
    const releasing = follow(lease.release(), clock)
    await clock.advance(10_000)
    expect(releasing.value).toBe('unknown')
    expect(releasedAtMs()).toHaveLength(1)
  })

  it('frees the lock if the store still has it, so that nobody waits for its ttl', async () => {
    const lease = await locks.acquire('k', { maxHold: '1s' })
    await clock.advance(1_000)
    expect(lease.signal.aborted).toBe(true)
    expect(await lease.release()).toBe('released')
    expect(await locks.isLocked('k')).toBe(false)
  })
})

describe('a late request', () => {
  it('of a release frees no successor', async () => {
    const lease = await locks.acquire('k')
    store.next('release', requestAfter(5_000))
    const releasing = follow(lease.release(), clock)
    await clock.advance(1_000)
    expect(releasing.value).toBe('released')
    const successor = await locks.acquire('k')
    await clock.advance(5_000)
    expect(await successor.release()).toBe('released')
  })

  it('that is answered after it was repeated is answered', async () => {
    const lease = await locks.acquire('k')
    store.always('release', replyAfter(1_500))
    const releasing = follow(lease.release(), clock)
    await clock.advance(1_500)
    expect(releasing.value).toBe('released')
  })

  it('that is answered after its deadline changes nothing any more', async () => {
    const lease = await locks.acquire('k')
    store.always('release', replyAfter(2_500))
    const releasing = follow(lease.release(), clock)
    await clock.advance(60_000)
    expect(releasing.value).toBe('unknown')
    expect(eventsOf('released')).toHaveLength(1)
  })
})

it('a release that the store refuses is told of with the reason', async () => {
  const lease = await locks.acquire('k')
  const cause = new Error('NOPERM this user has no permissions to run the "del" command')
  store.always('release', refusing(new StoreUnavailableError('refused the request', 'no', cause)))
  expect(await lease.release()).toBe('unknown')
  expect(events.slice(1)).toMatchObject([
    { type: 'release-refused', key: 'k', fence: lease.fence, cause },
    { type: 'released', outcome: 'unknown' },
  ])
})

it('a release that meets an operator’s revocation is a loss, though it was repeated', async () => {
  store.next('release', replyLost, async ({ requests }) => requests.map(() => ({ type: 'revoked' }) as never))
  const working = follow(
    locks.withLock('k', () => 'done'),
    clock,
  )
  await clock.advance(2_000)
  expect(working.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'gone', result: 'done' })
})

it('a listener that gives the lease back again from within an event gets the same answer, and nothing is sent twice', async () => {
  const again: Promise<unknown>[] = []
  const locker = createLocker({
    store,
    clock,
    onEvent: ({ type }) => {
      if (type === 'wanted') again.push(first?.release() ?? Promise.resolve())
    },
  })
  let first: Lease | undefined
  first = await locker.acquire('k')
  const waiting = [locker.acquire('k'), locker.acquire('k')]
  await first.release()
  for (const each of waiting) await (await each).release()
  expect(new Set(await Promise.all(again))).toEqual(new Set(['released']))
  expect(store.calls.filter(({ name }) => name === 'release')).toHaveLength(1)
})
