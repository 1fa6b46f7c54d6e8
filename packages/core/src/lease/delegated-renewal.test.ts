import { type TestLocker, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { type DelegatedLease, type DelegatedValidity, delegatedRenewal, type WatchdogLink } from '../adapter/index.ts'
import { InvalidOptionError, type LeaseLostError, type LossReason } from '../errors.ts'
import { createLocker } from '../locker.ts'
import { memoryStore } from '../memory/index.ts'
import { claimRecord } from '../records/index.ts'
import type { Watchdog } from '../watchdog.ts'
import type { Lease } from './lease.ts'

const ttlMs = 120_000
/** How long that ttl may be trusted, from when the request that granted it was sent. */
const validMs = ttlMs - 1_202

/** A watchdog elsewhere, under the control of a test. */
class Elsewhere {
  readonly minTtlMs = ttlMs
  readonly adopted: DelegatedLease[] = []
  ended = 0
  asked = 0
  /** Answers an adoption; a link by default. */
  adopt: (lease: DelegatedLease) => Promise<WatchdogLink> = async (lease) => this.link(lease)
  /** Answers a question. */
  answer: () => Promise<DelegatedValidity> = async () => ({ validForMs: validMs })
  /** Ends the last link with a reason; without one, by a crash. */
  lose: (reason?: LossReason) => void = () => undefined

  get watchdog(): Watchdog {
    const { minTtlMs } = this
    return delegatedRenewal({ minTtlMs, adopt: (lease) => this.#adopt(lease) })
  }

  link(_: DelegatedLease): WatchdogLink {
    const lost = new Promise<LossReason | undefined>((resolve, reject) => {
      this.lose = (reason) => (reason ? resolve(reason) : reject(new Error('The object was reset')))
    })
    const remaining = (): Promise<DelegatedValidity> => {
      this.asked++
      return this.answer()
    }
    return { remaining, lost, end: async () => this.ended++ }
  }

  #adopt(lease: DelegatedLease): Promise<WatchdogLink> {
    this.adopted.push(lease)
    return this.adopt(lease)
  }
}

let elsewhere: Elsewhere
let handedOver: Promise<unknown>[]
let { locks, store, clock, eventsOf }: TestLocker = testLocker()
beforeEach(() => {
  elsewhere = new Elsewhere()
  handedOver = []
  ;({ locks, store, clock, eventsOf } = testLocker({ waitUntil: (task) => handedOver.push(task) }))
})

const acquire = (options = {}): Promise<Lease> =>
  locks.acquire('k', { ttl: ttlMs, renew: elsewhere.watchdog, ...options })
const reasonOf = ({ signal }: Lease): unknown => (signal.aborted ? (signal.reason as LeaseLostError).reason : undefined)
const never = new Promise<never>(() => undefined)

describe('a lease that is renewed elsewhere', () => {
  it('is adopted behind the grant, with what the other side needs, and is not renewed here', async () => {
    const lease = await acquire({ maxHold: '1h' })
    expect(elsewhere.adopted).toEqual([])
    await clock.advance(1_000)
    const { key, token } = lease
    const [adopted] = elsewhere.adopted
    expect(adopted).toEqual({ key, token, ttlMs, expiresInMs: ttlMs - 1_000, holdForMs: 3_599_000 })
    await clock.advance(10 * ttlMs)
    expect(lease.signal.aborted).toBe(false)
    expect(store.called('renew')).toEqual([])
    expect(elsewhere.adopted).toHaveLength(1)
    await lease.release()
  })

  it('with too short a ttl is refused by name before anything is sent', async () => {
    const refused = await acquire({ ttl: ttlMs - 1 }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(InvalidOptionError)
    expect(refused).toMatchObject({ option: 'ttl', message: expect.stringContaining('120000') })
    await expect(locks.tryAcquire('k', { renew: elsewhere.watchdog })).rejects.toMatchObject({ option: 'ttl' })
    expect(() => createLocker({ store, renew: elsewhere.watchdog })).toThrow('"ttl"')
    for (const renew of [null, {}, 'yes']) await expect(acquire({ renew })).rejects.toMatchObject({ option: 'renew' })
    expect(store.calls).toEqual([])
  })

  it('asks each third of its ttl, and counts the answer from before the question', async () => {
    const lease = await acquire()
    await clock.advance(1_000)
    elsewhere.answer = async () => {
      await new Promise<void>((resolve) => clock.schedule(resolve, 2_000))
      return { validForMs: validMs }
    }
    while (elsewhere.asked === 0) await clock.advance(100)
    expect(clock.monotonicMs()).toBeGreaterThan(30_000)
    expect(clock.monotonicMs()).toBeLessThan(46_000)
    const askedMs = clock.monotonicMs()
    await clock.advance(2_000)
    // Short of it by 1 % and 2 ms, which is 1,189.98 ms.
    expect(lease.remaining()).toBeLessThanOrEqual(askedMs + validMs - 1_189 - clock.monotonicMs())
    expect(lease.remaining()).toBeGreaterThan(validMs - 4_000)
    await lease.release()
  })

  it('asks again sooner when an answer adds nothing, so that a late renewal is still seen', async () => {
    const lease = await acquire()
    elsewhere.answer = async () => ({ validForMs: 0 })
    await clock.advance(108_000)
    expect(elsewhere.asked).toBeGreaterThan(2)
    elsewhere.answer = async () => ({ validForMs: validMs })
    await clock.advance(8_000)
    expect(lease.remaining()).toBeGreaterThan(ttlMs * 0.9)
    await lease.release()
  })

  it.each(['gone', 'superseded'] as const)('is lost at once when it is told so: %s', async (reason) => {
    const lease = await acquire()
    await clock.advance(1_000)
    elsewhere.lose(reason)
    await clock.advance(0)
    expect(reasonOf(lease)).toBe(reason)
    await clock.advance(ttlMs)
    expect(elsewhere.adopted).toHaveLength(1)
  })

  it('is lost when an answer says so', async () => {
    const lease = await acquire()
    elsewhere.answer = async () => ({ validForMs: 0, lost: 'superseded' })
    await clock.advance(50_000)
    expect(reasonOf(lease)).toBe('superseded')
  })

  it('is not lost by the watchdog’s clock: it is adopted again', async () => {
    const lease = await acquire()
    await clock.advance(1_000)
    elsewhere.lose('expired')
    await clock.advance(1_001)
    expect(reasonOf(lease)).toBeUndefined()
    expect(elsewhere.adopted).toHaveLength(2)
    await lease.release()
  })

  it('is adopted again soon when the link breaks, at a moment of its own', async () => {
    const lease = await acquire()
    await clock.advance(1_000)
    elsewhere.lose()
    await clock.advance(1_001)
    expect(elsewhere.adopted).toHaveLength(2)
    expect(elsewhere.adopted[1]?.token).toBe(lease.token)
    elsewhere.answer = () => Promise.reject(new Error('The link is broken'))
    await clock.advance(50_000)
    expect(elsewhere.adopted.length).toBeGreaterThan(2)
    expect(reasonOf(lease)).toBeUndefined()
    await lease.release()
  })

  it.each([
    ['fails', () => Promise.reject(new Error('No such object'))],
    [
      'throws',
      () => {
        throw new Error('No such object')
      },
    ],
    ['never answers', () => never],
  ])('whose adoption %s is unanswered, paced, and lost as unreachable at the end of its validity', async (_, adopt) => {
    elsewhere.adopt = adopt
    const lease = await acquire()
    await clock.advance(validMs - 1)
    expect(reasonOf(lease)).toBeUndefined()
    const { length } = eventsOf('renewal-unanswered')
    expect(length).toBeGreaterThan(10)
    expect(length).toBeLessThan(40)
    await clock.advance(2)
    expect(reasonOf(lease)).toBe('unreachable')
    await clock.advance(60_000)
    expect(clock.pending).toBe(0)
  })

  it('whose question is unanswered tells why, and an answer makes it good', async () => {
    const lease = await acquire()
    elsewhere.answer = async () => ({ validForMs: 0, unanswered: 'HTTP 503' })
    await clock.advance(60_000)
    expect(eventsOf('renewal-unanswered')[0]).toMatchObject({ key: 'k', cause: { message: 'HTTP 503' } })
    elsewhere.answer = async () => ({ validForMs: validMs })
    await clock.advance(2 * ttlMs)
    expect(eventsOf('lost')).toEqual([])
    await lease.release()
  })
})

describe('the end', () => {
  it('of a lease tells the watchdog once, and leaves nothing', async () => {
    const lease = await acquire()
    await clock.advance(2_000)
    expect(await lease.release()).toBe('released')
    await Promise.all(handedOver)
    await clock.advance(ttlMs)
    expect([elsewhere.ended, elsewhere.asked, clock.pending]).toEqual([1, 0, 0])
  })

  it('of a lease within a second tells nobody', async () => {
    await (await acquire()).release()
    await clock.advance(ttlMs)
    expect([elsewhere.adopted.length, elsewhere.ended, clock.pending]).toEqual([0, 0, 0])
  })

  it('does not wait for a watchdog that does not answer, and what is handed over ends', async () => {
    const lease = await acquire()
    await clock.advance(2_000)
    elsewhere.link = () => ({ remaining: () => never, lost: never, end: () => never })
    elsewhere.lose()
    await clock.advance(1_001)
    expect(await lease.release()).toBe('released')
    await clock.advance(5_000)
    await Promise.all(handedOver)
    expect(clock.pending).toBe(0)
  })

  it('ends a link that comes after it', async () => {
    elsewhere.adopt = async (lease) => {
      await new Promise<void>((resolve) => clock.schedule(resolve, 3_000))
      return elsewhere.link(lease)
    }
    const lease = await acquire()
    await clock.advance(1_500)
    await lease.release()
    expect(elsewhere.ended).toBe(0)
    await clock.advance(ttlMs)
    expect([elsewhere.ended, elsewhere.adopted.length, clock.pending]).toEqual([1, 1, 0])
  })

  it('by maxHold, by close and by a loss tells it, too', async () => {
    const held = await acquire({ maxHold: '10s' })
    await clock.advance(10_001)
    expect([reasonOf(held), elsewhere.ended]).toEqual(['max-hold', 1])
    await held.release()
    const closed = await acquire()
    await clock.advance(2_000)
    void locks.close({ grace: 0 })
    await clock.advance(0)
    expect([reasonOf(closed), elsewhere.ended]).toEqual(['closed', 2])
  })
})

it('is never handed off within the process, and no hand-off brings a lease that is to be renewed elsewhere', async () => {
  const delegated = await acquire()
  const next = locks.acquire('k', { ttl: ttlMs })
  await delegated.release()
  const here = await next
  expect(here.commands).toBe(1)
  const third = acquire()
  await here.release()
  expect((await third).commands).toBe(1)
  await (await third).release()
})

it('can be renewed by hand, and longer than the watchdog knows', async () => {
  const lease = await acquire()
  await clock.advance(1_000)
  await lease.renew({ ttl: '1h' })
  elsewhere.lose('expired')
  elsewhere.adopt = () => never
  await clock.advance(3_000_000)
  expect(reasonOf(lease)).toBeUndefined()
  await lease.release()
})

it('renews the lease of a claim, too', async () => {
  const records = createLocker({ store: memoryStore({ clock }), clock })
  const claim = await claimRecord(records, 'k', { fingerprint: 'f', ttl: ttlMs, renew: elsewhere.watchdog })
  if (claim.type !== 'claimed') throw new Error(claim.type)
  await clock.advance(5 * ttlMs)
  expect(claim.run.signal.aborted).toBe(false)
  expect(store.called('renew')).toEqual([])
  expect(await claim.run.complete(null)).toMatchObject({ type: 'completed' })
  await clock.advance(0)
  expect(elsewhere.ended).toBe(1)
})
