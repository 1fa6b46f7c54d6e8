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
import { parseToken } from '../adapter/index.ts'
import { createLocker, poll, StoreUnavailableError } from '../index.ts'

let { locks, store, clock, elsewhere } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, elsewhere } = testLocker())
})

const { signal: unstopped } = new AbortController()

async function isHeld(): Promise<boolean> {
  store.next('inspect', answered)
  const outcome = await store.inspect('k', callUntil(unstopped))
  return outcome.type === 'state' && outcome.state.held
}

describe('a ttl that is short for the link', () => {
  // A command deadline is a third of the ttl, 66 ms; an attempt is repeated after half of it.
  const ttl = 200

  beforeEach(() => {
    for (const name of ['acquire', 'renew', 'release', 'inspect'] as const) store.always(name, replyAfter(40))
  })

  it('gets its lease by an answer that came after the attempt was repeated, dated by that attempt', async () => {
    const acquiring = follow(locks.acquire('k', { ttl }), clock)
    await clock.advance(40)
    expect(acquiring.state).toBe('fulfilled')
    expect(acquiring.value?.remaining()).toBeCloseTo(ttl - 4 - 40, 0)
  })

  it('keeps it: renewals that are answered late count', async () => {
    const acquiring = follow(locks.acquire('k', { ttl }), clock)
    await clock.advance(10_000)
    expect(acquiring.value?.signal.aborted).toBe(false)
  })

  it('blocks neither the other callers of its process nor other processes', async () => {
    const short = follow(
      locks.withLock('k', { ttl, wait: '30s' }, async () => undefined),
      clock,
    )
    await clock.advance(1)
    const others = [locks, createLocker({ store, clock })].map((each) =>
      follow(
        each.withLock('k', { wait: '30s' }, async () => undefined),
        clock,
      ),
    )
    await clock.advance(1_500)
    expect([short, ...others].map(({ state }) => state)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
  })

  it('that no answer can reach in time lets the others of its process try, and frees the lock for other processes', async () => {
    for (const name of ['acquire', 'release', 'inspect'] as const) store.always(name, replyAfter(300))
    const short = follow(locks.acquire('k', { ttl, wait: '30s' }), clock)
    await clock.advance(1)
    const long = follow(
      locks.withLock('k', { wait: '20s' }, async () => undefined),
      clock,
    )
    const elsewhere = follow(
      createLocker({ store, clock }).withLock('k', { wait: '20s' }, async () => undefined),
      clock,
    )
    await clock.advance(20_000)
    expect([long.state, elsewhere.state]).toEqual(['fulfilled', 'fulfilled'])
    await clock.advance(20_000)
    expect(short.state).toBe('rejected')
    expect(await isHeld()).toBe(false)
  })
})

describe('a grant that is answered while its caller pauses', () => {
  it('ends the pause and is that caller’s', async () => {
    const holder = await elsewhere.acquire('k', { ttl: '1m' })
    // The second attempt finds the holder, and only then is the first carried out.
    store.next('acquire', carriedOutAfter(1_200, 300))
    const acquiring = follow(locks.acquire('k', { wait: '1m', strategy: poll({ every: '20s' }) }), clock)
    await clock.advance(1_100)
    expect(store.called('acquire')).toHaveLength(3)
    await holder.release()
    await clock.advance(399)
    expect(acquiring.state).toBe('pending')
    await clock.advance(1)
    expect(acquiring.value?.remaining()).toBeCloseTo(10_000 - 102 - 1_500, 0)
    expect(await isHeld()).toBe(true)
  })
})

describe('grants with too little validity left', () => {
  it('are spaced out, and named when the wait is over', async () => {
    store.always('acquire', replyAfter(10))
    store.always('release', replyAfter(10))
    const options = { ttl: '10s', minValidity: '9.89s', wait: '5s' } as const
    const acquiring = follow(locks.acquire('k', options), clock)
    await clock.advance(5_100)
    const acquires = store.called('acquire').length
    expect(acquires).toBeLessThan(16)
    expect(acquiring.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT', lateGrants: acquires })
    expect(String(acquiring.reason)).toContain('minValidity')
    expect(store.called('release')).toHaveLength(acquires)
  })
})

describe('tries without an answer', () => {
  it('are followed by checks only, which re-arm nothing, until one is answered', async () => {
    store.always('acquire', replyLost)
    store.always('inspect', requestLost)
    const acquiring = follow(locks.acquire('k', { ttl: '3s', wait: '30s', renew: false }), clock)
    await clock.advance(9_000)
    // The second try, half a second after the first, re-armed the entry for the last time.
    expect(store.called('acquire')).toHaveLength(2)
    expect(store.called('inspect').length).toBeGreaterThan(10)
    expect(await isHeld()).toBe(false)
    store.always('acquire', answered)
    store.always('inspect', answered)
    await clock.advance(600)
    expect(acquiring.state).toBe('fulfilled')
  })

  it('that were certainly not carried out go on: they re-arm nothing', async () => {
    store.always('acquire', unavailable('no'))
    const acquiring = follow(locks.acquire('k', { wait: '10s' }), clock)
    await clock.advance(5_000)
    expect(store.called('inspect')).toEqual([])
    store.always('acquire', answered)
    await clock.advance(1_000)
    expect(acquiring.state).toBe('fulfilled')
  })

  it('are part of what an error says of its request, whatever the last attempt came to', async () => {
    const refused: Fate = async ({ requests }) =>
      requests.map(() => ({ type: 'refused', error: new StoreUnavailableError('refused', 'no') }))
    store.next('acquire', replyLost, refused)
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(3_000)
    expect(acquiring.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
  })

  it('do not make a certain refusal uncertain where there were none', async () => {
    store.next('acquire', async ({ requests }) =>
      requests.map(() => ({ type: 'refused', error: new StoreUnavailableError('refused', 'no') })),
    )
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(0)
    expect(acquiring.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no' })
  })
})

describe('the answer to another’s request', () => {
  const foreign: Fate = async ({ requests }) =>
    requests.map(() => ({ type: 'granted', token: `${'ab'.repeat(16)}.1700000000000000`, fence: 1 }) as never)

  it('is no grant: the next try finds out', async () => {
    store.next('acquire', foreign)
    const acquiring = follow(locks.acquire('k', { renew: false }), clock)
    await clock.advance(100)
    expect(acquiring.value?.fence).toBe(parseToken(acquiring.value?.token)?.fence)
    expect(acquiring.value?.token).not.toContain('ab'.repeat(16))
    expect(acquiring.value?.commands).toBe(2)
  })

  it('is not ours to give back', async () => {
    store.always('acquire', foreign)
    const trying = follow(locks.tryAcquire('k'), clock)
    await clock.advance(10_000)
    expect(trying.reason).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    expect(String(trying.reason)).not.toContain('ab'.repeat(16))
    // Only its own acquisition is undone, and nothing of the other's is given back.
    const [own] = store.called('acquire').flatMap(({ requests }) => requests)
    const released = store.called('release').flatMap(({ requests }) => requests)
    expect(new Set(released.map(({ acquisitionId }) => acquisitionId))).toEqual(new Set([own?.acquisitionId]))
  })
})

describe('a grant whose answer comes late', () => {
  it('does not take the key from whoever of its process was granted it since: the fences say who is later', async () => {
    store.next('acquire', replyAfter(1_500))
    store.always('acquire', requestLost)
    const late = follow(locks.acquire('k'), clock)
    await clock.advance(500)
    await elsewhere.revoke('k')
    store.next('acquire', answered)
    const newer = await locks.tryAcquire('k')
    await clock.advance(1_000)
    expect(late.value?.signal.aborted).toBe(true)
    expect(newer?.signal.aborted).toBe(false)
    expect(await newer?.release()).toBe('released')
  })

  it('while later tries stay silent is its caller’s, as soon as the present one is over', async () => {
    store.next('acquire', replyAfter(2_500))
    for (const name of ['acquire', 'inspect'] as const) store.always(name, requestLost)
    const acquiring = follow(locks.acquire('k', { wait: '20s' }), clock)
    await clock.advance(3_000)
    expect(acquiring.value?.remaining()).toBeCloseTo(10_000 - 102 - 3_000, 0)
  })

  it('costs nobody the lock that a later try of the same acquire was granted', async () => {
    store.next('acquire', replyAfter(2_000))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(500)
    // What was granted at once but not answered yet is taken away. Somebody else is granted the lock, to hide how that
    // grant ended.
    await elsewhere.revoke('k')
    await (await elsewhere.acquire('k')).release()
    await clock.advance(600)
    expect(acquiring.state).toBe('fulfilled')
    await clock.advance(1_000)
    expect(acquiring.value?.signal.aborted).toBe(false)
    expect(await elsewhere.inspect('k')).toMatchObject({ held: true, fence: acquiring.value?.fence })
  })

  it('is given back if it is a copy of what was accepted and has ended', async () => {
    store.next('acquire', carriedOutAfter(6_000, 0))
    const acquiring = follow(locks.acquire('k', { ttl: '30s' }), clock)
    await clock.advance(1_000)
    await acquiring.value?.release()
    // Somebody else is granted the lock, so that the store does not recognize the copy.
    await (await elsewhere.acquire('k')).release()
    await clock.advance(6_000)
    expect(await isHeld()).toBe(false)
  })

  it('is not given back while what was accepted is held', async () => {
    store.next('acquire', replyAfter(1_500))
    const acquiring = follow(locks.acquire('k', { ttl: '30s' }), clock)
    await clock.advance(10_000)
    expect(acquiring.value?.signal.aborted).toBe(false)
    expect(store.called('release')).toEqual([])
  })
})

/** Carried out `ms` later, and answered `more` milliseconds after that. */
function carriedOutAfter(ms: number, more: number): Fate {
  return async ({ clock, execute }) => {
    await new Promise<void>((resolve) => {
      clock.schedule(resolve, ms)
    })
    const outcomes = await execute()
    await new Promise<void>((resolve) => {
      clock.schedule(resolve, more)
    })
    return outcomes
  }
}
