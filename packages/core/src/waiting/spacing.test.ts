import { answered, type Fate, follow, requestLost, testLocker, unavailable } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { poll } from '../index.ts'

const setUp = () => testLocker({ wait: '30s' })
let { locks, store, clock, elsewhere } = setUp()
beforeEach(() => {
  ;({ locks, store, clock, elsewhere } = setUp())
})

const fates: readonly (readonly [string, Fate])[] = [
  ['does not answer', requestLost],
  ['fails at once', unavailable('no')],
  ['fails at once, and may have done it', unavailable('unknown')],
]

describe.each(fates)('a store that %s', (_, fate) => {
  beforeEach(() => {
    for (const name of ['acquire', 'inspect', 'release'] as const) store.always(name, fate)
  })

  it('is asked by one caller about twice a second at most', async () => {
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(30_000)
    expect(acquiring.reason).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(store.calls.length).toBeLessThan(70)
  })

  it('is asked no more often for a hundred callers with as many ttls', async () => {
    const calls = Array.from({ length: 100 }, (_, at) => follow(locks.acquire('k', { ttl: 10_000 + at }), clock))
    await clock.advance(30_000)
    for (const { reason } of calls) expect(reason).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(store.calls.length).toBeLessThan(250)
  })

  it('lets an abort through at once', async () => {
    const stop = new AbortController()
    const acquiring = follow(locks.acquire('k', { signal: stop.signal }), clock)
    await clock.advance(5_500)
    stop.abort('enough')
    await clock.advance(0)
    expect(acquiring.reason).toBe('enough')
  })
})

describe('a store', () => {
  it('whose writes fail while its reads are answered is tried ever less often', async () => {
    store.always('acquire', unavailable('unknown'))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(30_000)
    expect(acquiring.state).toBe('rejected')
    expect(store.calls.length).toBeLessThan(200)
  })

  it('that takes every try for a late copy is tried ever less often', async () => {
    store.always('acquire', async ({ requests }) => requests.map(() => ({ type: 'spent' }) as never))
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(30_000)
    expect(acquiring.reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
    expect(store.called('acquire').length).toBeLessThan(50)
  })

  it('that is well again is asked as before', async () => {
    for (const name of ['acquire', 'inspect'] as const) store.always(name, requestLost)
    const acquiring = follow(locks.acquire('k'), clock)
    await clock.advance(10_000)
    for (const name of ['acquire', 'inspect'] as const) store.always(name, answered)
    await clock.advance(1_100)
    expect(acquiring.state).toBe('fulfilled')
  })
})

it('calls whose waits end together do not each try once more', async () => {
  await elsewhere.acquire('k', { ttl: '1h', renew: false })
  const strategy = poll({ every: '10s' })
  const calls = Array.from({ length: 50 }, () => follow(locks.acquire('k', { wait: '2s', strategy }), clock))
  await clock.advance(2_000)
  for (const { reason } of calls) expect(reason).toMatchObject({ code: 'ACQUIRE_TIMEOUT' })
  expect(store.called('acquire').length).toBeLessThan(5)
})
