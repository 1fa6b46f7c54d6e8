import {
  answered,
  type Fate,
  follow,
  ManualClock,
  replyAfter,
  replyLost,
  requestAfter,
  requestLost,
  ScriptedStore,
  type Settlement,
  seededRandom,
  unavailable,
} from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { LeaseholdError } from './errors.ts'
import type { Lease } from './lease/lease.ts'
import { createLocker } from './locker.ts'
import { memoryStore } from './memory/index.ts'

/** A network on which a third of all calls go wrong. */
function unreliable(random: () => number): Fate {
  return (sending) => {
    const what = random()
    const ms = random() * 3_000
    if (what < 0.05) return replyLost(sending)
    if (what < 0.1) return requestLost(sending)
    if (what < 0.18) return replyAfter(ms)(sending)
    if (what < 0.26) return requestAfter(ms)(sending)
    if (what < 0.3) return unavailable('unknown')(sending)
    if (what < 0.33) return unavailable('no')(sending)
    return answered(sending)
  }
}

/** Four processes contend for one lock for about a minute, then come to rest. Returns what is visible from outside. */
async function contend(random: () => number, fateOf: (random: () => number) => Fate) {
  const clock = new ManualClock()
  const store = new ScriptedStore(clock)
  for (const call of ['acquire', 'renew', 'release'] as const) store.always(call, fateOf(random))
  const lockers = Array.from({ length: 4 }, () => createLocker({ store, clock, wait: '8s' }))

  const calls: Settlement<Lease>[] = []
  /** The leases in the order in which they were granted. */
  const granted: Lease[] = []
  const unreleased = new Set<Lease>()
  const stops: AbortController[] = []
  let mostTrusted = 0

  const collect = (): void => {
    const news = calls.filter(({ value }) => value && !granted.includes(value))
    for (const { value } of news.sort((a, b) => Number(a.atMs) - Number(b.atMs))) {
      granted.push(value as Lease)
      unreleased.add(value as Lease)
    }
    mostTrusted = Math.max(mostTrusted, granted.filter((lease) => lease.remaining() > 0).length)
  }
  const giveBack = (share: number): void => {
    for (const lease of unreleased) {
      if (random() >= share) continue
      unreleased.delete(lease)
      follow(lease.release(), clock)
    }
  }

  for (let step = 0; step < 500; step++) {
    const locker = lockers[Math.trunc(random() * lockers.length)]
    if (locker && random() < 0.1) {
      const stop = new AbortController()
      stops.push(stop)
      if (random() < 0.3) clock.schedule(() => stop.abort(changedMind), random() * 4_000)
      const wait = random() < 0.2 ? 0 : 8_000
      const options = { ttl: 2_000 + random() * 4_000, wait, renew: random() < 0.7, signal: stop.signal }
      calls.push(follow(locker.acquire('k', options), clock))
    }
    // At the same moment as a lease is given back.
    if (random() < 0.1) stops.pop()?.abort(changedMind)
    giveBack(0.1)
    if (random() < 0.02) clock.block(random() * 2_000)
    if (random() < 0.02) clock.freeze(random() * 2_000)
    await clock.advance(random() * 200)
    collect()
  }
  for (let round = 0; round < 20; round++) {
    giveBack(1)
    await clock.advance(10_000)
    collect()
  }
  return { calls, granted, mostTrusted, timers: clock.timers, held: await lockers[0]?.isLocked('k') }
}

const changedMind = 'changed my mind'

describe('whatever gets lost, late or repeated', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('one holder at a time trusts its lease, and nothing stays (run %d)', async () => {
    const { random, seed } = seededRandom()
    const { calls, granted, mostTrusted, timers, held } = await contend(random, unreliable)
    expect(granted.length, `seed ${seed}`).toBeGreaterThan(3)
    expect(mostTrusted, `seed ${seed}`).toBe(1)
    const fences = granted.map(({ fence }) => Number(fence))
    expect(fences, `seed ${seed}`).toEqual([...new Set(fences)].sort((a, b) => a - b))
    for (const { state, reason } of calls) {
      expect(state, `seed ${seed}`).not.toBe('pending')
      if (state === 'fulfilled' || reason === changedMind) continue
      expect(reason, `seed ${seed}`).toBeInstanceOf(LeaseholdError)
    }
    expect(timers, `seed ${seed}`).toEqual([])
    expect(held, `seed ${seed}`).toBe(false)
  })

  it('a store that gives a held lock away does not go unnoticed here', async () => {
    const { random, seed } = seededRandom()
    const forgetful = (random: () => number): Fate => {
      const fate = unreliable(random)
      return async (sending) => {
        const outcomes = await fate(sending)
        return outcomes.map((outcome, index) => {
          if (!isHeld(outcome)) return outcome
          const token = `${sending.requests[index]?.acquisitionId}.${Date.now()}`
          return { type: 'granted', token, fence: null } as never
        })
      }
    }
    const { mostTrusted } = await contend(random, forgetful)
    expect(mostTrusted, `seed ${seed}`).toBeGreaterThan(1)
  })
})

const isHeld = (outcome: unknown): boolean => (outcome as { type: string }).type === 'held'

describe('clocks that run at different rates', () => {
  it.each([0.99, 1.01])(
    'a holder whose clock runs at %d of the rate of the store stops before the store lets go',
    async (rate) => {
      const own = new ManualClock()
      const clock = new ManualClock()
      const locks = createLocker({ store: memoryStore({ clock }), clock: own, renew: false })
      const lease = await locks.acquire('k')
      for (let ms = 0; ms < 9_999; ms++) {
        await clock.advance(1)
        await own.advance(rate)
        if (lease.remaining() > 0) expect(await locks.isLocked('k')).toBe(true)
      }
      expect(lease.remaining()).toBe(0)
      expect(lease.signal.aborted).toBe(true)
      expect(await locks.isLocked('k')).toBe(true)
    },
  )
})
