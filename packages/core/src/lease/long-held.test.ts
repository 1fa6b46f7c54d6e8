import { follow, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLocker, type LockerEvent, type LockerOptions } from '../index.ts'

let told: { readonly key: string; readonly atMs: number; readonly heldMs: number }[]
let { store, clock } = testLocker()
beforeEach(() => {
  ;({ store, clock } = testLocker())
  told = []
})

const onEvent = (event: LockerEvent): void => {
  if (event.type === 'long-held') told.push({ key: event.key, atMs: clock.monotonicMs(), heldMs: event.heldMs })
}

const locker = (options: Partial<LockerOptions> = {}) => createLocker({ store, clock, onEvent, ...options })

/** The whole seconds at which the event was emitted. */
const seconds = (): number[] => told.map(({ atMs }) => Math.floor(atMs / 1_000))

describe('a lease held for long', () => {
  it.each([
    ['renewed', {}],
    ['not renewed', { ttl: '1h', renew: false }],
  ] as const)('is told of after a minute, and then each time that has doubled: %s', async (_, options) => {
    await locker().acquire('k', options)
    await clock.advance(59_000)
    expect(told).toEqual([])
    await clock.advance(600_000)
    expect(seconds().map((second) => Math.round(second / 10))).toEqual([6, 12, 24, 48])
    for (const { atMs, heldMs } of told) expect(heldMs).toBeCloseTo(atMs, 0)
  })

  it('is told of after as long as it was said, for the locker or for one call', async () => {
    const locks = locker({ longHeld: '10s' })
    await locks.acquire('a')
    await locks.acquire('b', { longHeld: '25s' })
    await clock.advance(30_000)
    expect(told.map(({ key }) => key)).toEqual(['a', 'a', 'b'])
  })

  it('counts from the beginning of each holder: a lease that was handed on is young', async () => {
    const locks = locker()
    const first = await locks.acquire('k')
    const second = follow(locks.acquire('k', { wait: '5m' }), clock)
    await clock.advance(50_000)
    await first.release()
    await clock.advance(59_000)
    expect([second.state, told.length]).toEqual(['fulfilled', 0])
    await clock.advance(3_000)
    expect(told).toHaveLength(1)
  })

  it('is not told of any more once it was given back or lost', async () => {
    const locks = locker()
    await (await locks.acquire('a')).release()
    await locks.acquire('b', { maxHold: '90s' })
    await clock.advance(600_000)
    expect(told.map(({ key }) => key)).toEqual(['b'])
  })

  it('shows what nobody waits for any more: an acquire that lost a race', async () => {
    const other = await locker().acquire('k')
    told.length = 0
    const locks = locker()
    const gaveUp = Promise.resolve('gave up')
    expect(await Promise.race([locks.acquire('k'), gaveUp])).toBe('gave up')
    await other.release()
    await clock.advance(70_000)
    expect(told).toHaveLength(1)
  })

  it('costs thousands of leases one check a second at most', async () => {
    const locks = locker({ ttl: '1h', renew: false })
    for (let at = 0; at < 2_000; at++) {
      await locks.acquire(`k${at}`)
      await clock.advance(1)
    }
    await clock.advance(70_000)
    expect(told).toHaveLength(2_000)
    expect(new Set(told.map(({ atMs }) => atMs)).size).toBeLessThanOrEqual(4)
  })
})
