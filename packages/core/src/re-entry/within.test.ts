import { inspect } from 'node:util'
import { follow, replyAfter, requestLost, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { LeaseLostError } from '../errors.ts'
import { detach, resume } from '../hand-over/index.ts'
import type { Lease } from '../index.ts'
import { acquireAll, releaseAll } from '../many/index.ts'
import { fifo } from '../queue/index.ts'
import { readWriteLock } from '../read-write/index.ts'
import { holdAtLeast } from '../schedule/index.ts'
import { semaphore } from '../semaphore/index.ts'
import { within } from './index.ts'

const setUp = () => testLocker({ name: 'here' })
let { locks, elsewhere, store, clock, events } = setUp()
beforeEach(() => {
  ;({ locks, elsewhere, store, clock, events } = setUp())
})

const names = (): string[] => store.calls.map(({ name }) => name)
const told = (): string[] => events.map(({ type }) => type)

describe('a hold within a lease', () => {
  it('is the same grant, at once and without a command, whoever waits for it', async () => {
    const lease = await locks.acquire('k', { ttl: '6s' })
    const waiting = follow(locks.acquire('k', { wait: '1h' }), clock)
    await clock.advance(0)
    store.calls.length = 0
    const again = within(locks, lease)
    const holds = [await again.acquire('k'), await again.acquire('k', { wait: '5s' }), await again.tryAcquire('k')]
    for (const hold of holds) {
      expect(hold).toMatchObject({ key: 'k', fence: lease.fence, waitedMs: 0, commands: 0 })
      expect(hold?.signal).toBe(lease.signal)
      expect(hold?.remaining()).toBe(lease.remaining())
      hold?.assertValid()
      expect(await hold?.release()).toBe('released')
    }
    expect(await again.withLock('k', (hold) => hold.fence)).toBe(lease.fence)
    expect(store.calls).toEqual([])
    expect(waiting.state).toBe('pending')
    await lease.release()
    await clock.advance(0)
    expect(waiting.state).toBe('fulfilled')
    expect(told()).toEqual(['acquired', 'contended', 'wanted', 'released', 'acquired'])
  })

  it('ends once, and then refuses every call, while the others go on', async () => {
    const lease = await locks.acquire('k')
    const [first, second] = await Promise.all([1, 2].map(() => within(locks, lease).acquire('k')))
    await Promise.all([first?.release(), first?.release()])
    expect(first?.remaining()).toBe(0)
    expect(() => first?.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_RELEASED', key: 'k' }))
    await expect(first?.renew({ ttl: '5s' })).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
    second?.assertValid()
    lease.assertValid()
    await second?.renew({ ttl: '1h' })
    expect(lease.remaining()).toBeGreaterThan(3_500_000)
    await second?.release()
    expect(await elsewhere.isLocked('k')).toBe(true)
    await lease.release()
    expect(await elsewhere.isLocked('k')).toBe(false)
    expect(names().filter((name) => name === 'release')).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it('keeps the lock when the outer lease goes first: renewed, and given back with the last', async () => {
    const lease = await locks.acquire('k', { ttl: '3s' })
    const hold = await within(locks, lease).acquire('k')
    expect(await lease.release()).toBe('released')
    expect(() => lease.assertValid()).toThrow(expect.objectContaining({ code: 'LEASE_RELEASED' }))
    await clock.advance(20_000)
    hold.assertValid()
    const inner = await within(locks, hold).acquire('k')
    await hold.release()
    expect(names()).not.toContain('release')
    expect(await elsewhere.isLocked('k')).toBe(true)
    expect(await inner.release()).toBe('released')
    expect(await elsewhere.isLocked('k')).toBe(false)
    const renewals = store.called('renew').length
    await clock.advance(20_000)
    expect(store.called('renew')).toHaveLength(renewals)
    expect(clock.pending).toBe(0)
  })

  it('hands the lock off with its end, if it is the last', async () => {
    const lease = await locks.acquire('k', { ttl: '6s' })
    const hold = await within(locks, lease).acquire('k')
    const waiting = follow(locks.acquire('k', { ttl: '6s', wait: '1h' }), clock)
    await lease.release()
    await clock.advance(0)
    expect(waiting.state).toBe('pending')
    await hold.release()
    await clock.advance(0)
    expect(waiting.value?.fence).toBe(lease.fence + 1)
    // The next holder gets holds of its own.
    const next = waiting.value as NonNullable<typeof waiting.value>
    const again = await within(locks, next).acquire('k')
    expect(again.fence).toBe(next.fence)
    await next.release()
    expect(await elsewhere.isLocked('k')).toBe(true)
    await again.release()
    expect(await elsewhere.isLocked('k')).toBe(false)
  })

  it('is renewed by itself when it is asked to, and ends such calls when it is released', async () => {
    const lease = await locks.acquire('k')
    const hold = await within(locks, lease).acquire('k')
    await hold.renew({ by: '1m' })
    expect(hold.remaining()).toBeGreaterThan(60_000)
    store.always('renew', requestLost)
    const renewing = follow(hold.renew({ ttl: '2m' }), clock)
    await hold.release()
    await clock.advance(0)
    expect(renewing.reason).toMatchObject({ code: 'LEASE_RELEASED' })
    await expect(hold.renew({} as never)).rejects.toMatchObject({ option: 'ttl' })
  })

  it('is decided before any queue, and the last of them gives the turn to who is next', async () => {
    const lease = await locks.acquire('k', { queue: fifo() })
    const waiting = follow(elsewhere.acquire('k', { queue: fifo(), wait: '1h' }), clock)
    await clock.advance(10)
    const hold = await within(locks, lease).acquire('k', { queue: fifo(), wait: '5s' })
    expect(hold.fence).toBe(lease.fence)
    await lease.release()
    await clock.advance(3_000)
    expect(waiting.state).toBe('pending')
    await hold.release()
    await clock.advance(3_000)
    expect(waiting.state).toBe('fulfilled')
  })

  it('is not for permits, which are not the whole lock', async () => {
    const permit = await semaphore(locks, 'pool', { permits: 2 }).acquire()
    const doc = readWriteLock(locks, 'doc')
    const write = await doc.write()
    const read = await doc.read({ within: write })
    // The message also says how the leases that can re-enter do so.
    const refused = { option: 'lease', message: expect.stringContaining('read({ within })') }
    for (const lease of [permit, write, read])
      expect(() => within(locks, lease)).toThrow(expect.objectContaining(refused))
  })

  it('is printed as its lease is, without the token', async () => {
    const lease = await locks.acquire('k')
    const hold = await within(locks, lease).acquire('k')
    expect(JSON.parse(JSON.stringify(hold))).toEqual({ ...JSON.parse(JSON.stringify(lease)), commands: 0 })
    expect(inspect(hold, { showHidden: true, depth: 10 })).not.toContain(lease.token)
    // Even where no custom printing applies.
    expect(Object.keys(hold)).toEqual(['key', 'fence', 'waitedMs', 'commands', 'place', 'lostBecause'])
  })

  it('belongs to a set as well', async () => {
    const set = await acquireAll(locks, ['a', 'b'])
    const a = set.leases.get('a')
    const hold = await within(locks, a as NonNullable<typeof a>).acquire('a')
    await set.release()
    expect([await elsewhere.isLocked('a'), await elsewhere.isLocked('b')]).toEqual([true, false])
    await hold.release()
    expect(await elsewhere.isLocked('a')).toBe(false)
  })

  it('ends with all others that are released together', async () => {
    const lease = await locks.acquire('k')
    const hold = await within(locks, lease).acquire('k')
    expect(await releaseAll([lease, hold])).toEqual(['released', 'released'])
    expect(names().filter((name) => name === 'release')).toHaveLength(1)
    expect(await elsewhere.isLocked('k')).toBe(false)
  })

  it('keeps its lease from being detached, before anything is sent: else two would believe they hold the lock', async () => {
    const lease = await locks.acquire('k')
    const kept = await holdAtLeast(locks, '1s').acquire('kept')
    const one = (await acquireAll(locks, ['a', 'b'])).leases.get('a') as Lease
    for (const outer of [lease, kept, one]) {
      const hold = await within(locks, outer).acquire(outer.key)
      const refused = { code: 'INVALID_OPTION', option: 'lease', message: expect.stringContaining('nested holds') }
      await expect(detach(outer, { ttl: '1m' })).rejects.toMatchObject(refused)
      await expect(detach(hold, { ttl: '1m' })).rejects.toMatchObject({ option: 'lease' })
      expect(names()).not.toContain('renew')
      outer.assertValid()
      await hold.release()
      await (await resume(elsewhere, await detach(outer, { ttl: '1m' }))).release()
      store.calls.length = 0
    }
  })

  it('keeps its lease, too, if it begins while the request of `detach` is under way', async () => {
    const lease = await locks.acquire('k')
    store.next('renew', replyAfter(300))
    const detaching = follow(detach(lease, { ttl: '1m' }), clock)
    await clock.advance(100)
    const hold = await within(locks, lease).acquire('k')
    await clock.advance(300)
    expect(detaching.reason).toMatchObject({ option: 'lease' })
    await clock.advance(120_000)
    hold.assertValid()
    lease.assertValid()
    expect(told()).not.toContain('released')
  })

  it('of a read/write lock cannot be detached, nor can the lease around it', async () => {
    const doc = readWriteLock(locks, 'doc')
    const write = await doc.write()
    const read = await doc.read({ within: write })
    for (const lease of [write, read])
      await expect(detach(lease, { ttl: '1m' })).rejects.toMatchObject({ option: 'lease' })
    expect(names()).not.toContain('renew')
  })
})

describe('a lease that has ended', () => {
  it('lets nobody in, and says how it ended', async () => {
    const lost = await locks.acquire('lost', { ttl: '3s' })
    await elsewhere.revoke('lost')
    await clock.advance(3_000)
    await expect(within(locks, lost).acquire('lost')).rejects.toBeInstanceOf(LeaseLostError)
    const released = await locks.acquire('released')
    await released.release()
    for (const call of ['acquire', 'tryAcquire'] as const)
      await expect(within(locks, released)[call]('released')).rejects.toMatchObject({ code: 'LEASE_RELEASED' })
    const expired = await locks.acquire('expired', { ttl: '3s', renew: false })
    clock.block(3_000)
    await expect(within(locks, expired).acquire('expired')).rejects.toMatchObject({ reason: 'expired' })
  })

  it('is lost for all of its holds, and each says so', async () => {
    const lease = await locks.acquire('k', { ttl: '3s' })
    const hold = await within(locks, lease).acquire('k')
    const work = within(locks, hold).withLock('k', async (inner) => {
      await new Promise((resolve) => inner.signal.addEventListener('abort', resolve))
      expect(() => inner.assertValid()).toThrow(LeaseLostError)
      return 'result'
    })
    const working = follow(work, clock)
    await elsewhere.revoke('k')
    await clock.advance(3_000)
    expect(working.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'gone', result: 'result' })
    expect(() => hold.assertValid()).toThrow(LeaseLostError)
    expect(await hold.release()).toBe('expired')
    expect(await lease.release()).toBe('expired')
    expect(told().filter((type) => type === 'lost')).toHaveLength(1)
    expect(clock.pending).toBe(0)
  })

  it('is lost by its last hold, too, though the outer lease was released', async () => {
    const lease = await locks.acquire('k', { ttl: '3s' })
    const { signal } = lease
    const hold = await within(locks, lease).acquire('k')
    await lease.release()
    await elsewhere.revoke('k')
    const other = await elsewhere.acquire('k')
    await clock.advance(3_000)
    expect(hold.signal).toBe(signal)
    expect(signal.reason).toMatchObject({ reason: 'superseded' })
    expect(await hold.release()).toBe('expired')
    other.assertValid()
    expect(await elsewhere.inspect('k')).toMatchObject({ fence: other.fence })
  })
})

it('a lease that is lost by its `maxHold` goes back with the outer lease, whatever holds are left', async () => {
  const lease = await locks.acquire('k', { maxHold: '1s' })
  const [first, second] = [await within(locks, lease).acquire('k'), await within(locks, lease).acquire('k')]
  await clock.advance(1_000)
  expect(first.signal.reason).toMatchObject({ reason: 'max-hold' })
  // The store still has the lock, and nobody knows yet how that will end.
  expect(await first.release()).toBe('unknown')
  expect(await elsewhere.isLocked('k')).toBe(true)
  expect(await lease.release()).toBe('released')
  expect(await elsewhere.isLocked('k')).toBe(false)
  expect(await second.release()).toBe('released')
})

it('the last hold goes to the store when the lock cannot be handed off, and wakes who waits here', async () => {
  for (const ending of ['a longer ttl', 'a token that left'] as const) {
    const lease = await locks.acquire('k', { ttl: '6s' })
    const hold = await within(locks, lease).acquire('k')
    if (ending === 'a token that left') expect(hold.token).toMatch(/^here\./)
    const waiting = follow(locks.acquire('k', { ttl: ending === 'a longer ttl' ? '1h' : '6s', wait: '1h' }), clock)
    await lease.release()
    await hold.release()
    await clock.advance(0)
    expect(waiting.value?.commands, ending).toBeGreaterThan(0)
    await waiting.value?.release()
  }
})

it('the end of a hold is handed to `waitUntil`', async () => {
  const tasks: unknown[] = []
  const { locks } = testLocker({ waitUntil: (task) => tasks.push(task) })
  const hold = await within(locks, await locks.acquire('k')).acquire('k')
  const before = tasks.length
  await hold.release()
  expect(tasks).toHaveLength(before + 1)
})

describe('closing', () => {
  it('does not wait for holds that have ended', async () => {
    const lease = await locks.acquire('k')
    const hold = await within(locks, lease).acquire('k')
    await hold.release()
    await lease.release()
    const closing = follow(locks.close({ grace: '5s' }), clock)
    await clock.advance(0)
    expect(closing.state).toBe('fulfilled')
  })

  it.each([
    ['whether it is free', false, 'released'],
    ['or was gone, also if the outer lease was released before', true, 'expired'],
  ])('answers of each hold what became of the lock: %s', async (_, isGone, outcome) => {
    const lease = await locks.acquire('k')
    const holds = [await within(locks, lease).acquire('k'), await within(locks, lease).acquire('k')]
    // Before the lock is given back.
    lease.signal.addEventListener('abort', () => void holds[0]?.release())
    if (isGone) {
      await lease.release()
      await elsewhere.revoke('k')
    }
    const closing = locks.close({ grace: 0 })
    await clock.advance(0)
    await closing
    expect(await lease.release()).toBe('released')
    for (const hold of holds) expect(await hold.release()).toBe(outcome)
    expect(store.called('release')).toMatchObject([{ requests: [{ key: 'k' }] }])
    expect(await elsewhere.isLocked('k')).toBe(false)
  })

  it('lets nobody in, and leaves the lease alone until its grace is over', async () => {
    const lease = await locks.acquire('k')
    const closing = locks.close({ grace: '5s' })
    await expect(within(locks, lease).acquire('k')).rejects.toMatchObject({ code: 'CLOSED' })
    await clock.advance(4_999)
    lease.assertValid()
    await lease.release()
    await closing
  })

  it('waits for the holds that are left, and takes the lock away after its grace', async () => {
    const lease = await locks.acquire('k')
    const hold = await within(locks, lease).acquire('k')
    await lease.release()
    const closing = follow(locks.close({ grace: '5s' }), clock)
    await clock.advance(4_999)
    expect(closing.state).toBe('pending')
    hold.assertValid()
    await clock.advance(2)
    expect(closing.state).toBe('fulfilled')
    expect(hold.signal.reason).toMatchObject({ reason: 'closed' })
    expect(await elsewhere.isLocked('k')).toBe(false)
  })

  it('does not wait for holds of a lease that is lost', async () => {
    const lease = await locks.acquire('k', { ttl: '3s' })
    await within(locks, lease).acquire('k')
    await elsewhere.revoke('k')
    await clock.advance(3_000)
    const closing = follow(locks.close({ grace: '5s' }), clock)
    await clock.advance(0)
    expect(closing.state).toBe('fulfilled')
  })
})

describe('other keys', () => {
  it('are acquired in the ordinary way', async () => {
    const lease = await locks.acquire('k')
    const again = within(locks, lease)
    const other = await again.acquire('other')
    expect(other.key).toBe('other')
    expect(await again.tryAcquire('other')).toBeNull()
    await other.release()
    expect(await again.withLock('other', { ttl: '5s' }, () => elsewhere.isLocked('other'))).toBe(true)
    expect(await elsewhere.isLocked('other')).toBe(false)
  })
})

describe('what is refused by name', () => {
  it.each([
    ['locks', () => within({} as never, {} as never)],
    ['lease', async () => within(locks, { key: 'k' } as never)],
    ['lease', async () => within(locks, null as never)],
    ['lease', async () => within(locks, await elsewhere.acquire('k'))],
    ['ttl', async () => within(locks, await locks.acquire('k')).acquire('k', { ttl: -1 })],
    ['wait', async () => within(locks, await locks.acquire('k')).tryAcquire('k', { wait: 5 } as never)],
    ['work', async () => within(locks, await locks.acquire('k')).withLock('k', 5 as never)],
  ])('%s', async (option, call) => {
    await expect((async () => call())()).rejects.toMatchObject({ code: 'INVALID_OPTION', option })
  })

  it('and an aborted signal ends the call with its reason', async () => {
    const lease = await locks.acquire('k')
    await expect(within(locks, lease).acquire('k', { signal: AbortSignal.abort('enough') })).rejects.toBe('enough')
  })
})
