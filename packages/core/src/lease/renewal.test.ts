import { replyAfter, requestLost, ScriptedStore, testLocker } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import type { LeaseLostError } from '../errors.ts'
import { createLocker } from '../locker.ts'
import type { Lease } from './lease.ts'

/** How long the default ttl of 10 s may be trusted, from when it was sent. */
const validMs = 10_000 - 102

const dayMs = 86_400_000

let { locks, store, clock, eventsOf } = testLocker()
beforeEach(() => {
  ;({ locks, store, clock, eventsOf } = testLocker())
})

const renewedAtMs = (): number[] => store.called('renew').map(({ atMs }) => atMs)

const gaps = (times: readonly number[]): number[] => times.slice(1).map((time, at) => time - (times[at] ?? 0))

const reasonOf = ({ signal }: Lease): unknown => (signal.aborted ? (signal.reason as LeaseLostError).reason : undefined)

/** Lets time pass until `count` renewals were sent, and a little less than 10 ms more. */
async function untilRenewed(count: number): Promise<void> {
  while (renewedAtMs().length < count) await clock.advance(10)
}

/** Takes many locks at once. */
const takeMany = (count: number): Promise<readonly Lease[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => locks.acquire(`k${at}`)))

describe('a renewed lease', () => {
  it('is kept as long as its holder likes', async () => {
    const lease = await locks.acquire('k')
    for (let minute = 0; minute < 30; minute++) {
      await clock.advance(60_000)
      expect(lease.remaining()).toBeGreaterThan(validMs / 2)
      expect(await locks.isLocked('k')).toBe(true)
    }
    expect(lease.signal.aborted).toBe(false)
    expect(eventsOf('lost')).toEqual([])
  })

  it('is renewed first within the second half of a third of its ttl, then every third, give or take 10 %', async () => {
    await locks.acquire('k')
    await clock.advance(120_000)
    const [first = 0, ...later] = renewedAtMs()
    expect(first).toBeGreaterThanOrEqual(10_000 / 6)
    expect(first).toBeLessThanOrEqual(10_000 / 3 + 1)
    for (const gap of gaps([first, ...later])) {
      expect(gap).toBeGreaterThanOrEqual(3_000)
      expect(gap).toBeLessThanOrEqual(3_668)
    }
  })

  it('asks for its own ttl, with its whole token', async () => {
    const lease = await locks.acquire('k', { ttl: '30s' })
    await clock.advance(10_001)
    expect(store.called('renew')).toMatchObject([{ requests: [{ key: 'k', token: lease.token, ttlMs: 30_000 }] }])
  })

  it('keeps its fence and its token', async () => {
    const lease = await locks.acquire('k')
    const { fence, token } = lease
    await clock.advance(60_000)
    expect([lease.fence, lease.token]).toEqual([fence, token])
    expect(await locks.inspect('k')).toMatchObject({ fence })
  })

  it('is trusted from the sending of the renewal, not from its answer', async () => {
    const lease = await locks.acquire('k')
    store.always('renew', replyAfter(900))
    await untilRenewed(1)
    const [sentMs = 0] = renewedAtMs()
    await clock.advance(sentMs + 900 - clock.monotonicMs())
    expect(lease.remaining()).toBeCloseTo(validMs - 900, 1)
  })

  it('is not renewed any more once it is released, and no timer stays behind', async () => {
    const lease = await locks.acquire('k')
    await clock.advance(20_000)
    await lease.release()
    const sent = renewedAtMs().length
    expect(clock.pending).toBe(0)
    await clock.advance(120_000)
    expect(renewedAtMs()).toHaveLength(sent)
  })

  it('is renewed by a timer that does not keep the process alive', async () => {
    await locks.acquire('k')
    expect(new Set(clock.timers.map(({ background }) => background))).toEqual(new Set([true]))
  })

  it('shares one timer with those that come after it, which comes for nothing and ends once there are none', async () => {
    for (let hold = 0; hold < 3; hold++) await (await locks.acquire('k')).release()
    expect(clock.timers.filter(({ dueInMs }) => dueInMs > 1_000)).toHaveLength(1)
    await clock.advance(60_000)
    expect(clock.timers).toEqual([])
    expect(renewedAtMs()).toEqual([])
  })

  it('of a key that was lost before is renewed again', async () => {
    const first = await locks.acquire('k')
    store.always('renew', requestLost)
    store.always('release', requestLost)
    await clock.advance(15_000)
    expect(reasonOf(first)).toBe('unreachable')
    store.always('renew', ({ execute }) => execute())
    const second = await locks.acquire('k')
    const sent = renewedAtMs().length
    await clock.advance(60_000)
    expect(second.signal.aborted).toBe(false)
    expect(renewedAtMs().length - sent).toBeGreaterThan(14)
  })

  it.each([
    { ttl: 50, forMs: 5_000, least: 200, most: 620 },
    { ttl: 5, forMs: 500, least: 100, most: 500 },
  ])('with a ttl of $ttl ms is kept, without spinning', async ({ ttl, forMs, least, most }) => {
    const lease = await locks.acquire('k', { ttl })
    await clock.advance(forMs)
    expect(lease.signal.aborted).toBe(false)
    expect(renewedAtMs().length).toBeGreaterThanOrEqual(least)
    expect(renewedAtMs().length).toBeLessThanOrEqual(most)
  })

  it('with a ttl of 30 days is kept by a renewal every 10', async () => {
    const lease = await locks.acquire('k', { ttl: `${30 * 24}h` })
    await clock.advance(4 * dayMs)
    expect(renewedAtMs()).toEqual([])
    await clock.advance(356 * dayMs)
    expect(lease.signal.aborted).toBe(false)
    expect(lease.remaining()).toBeGreaterThan(18 * dayMs)
    expect(renewedAtMs().length).toBeGreaterThanOrEqual(32)
    expect(renewedAtMs().length).toBeLessThanOrEqual(41)
  })

  it('with the longest ttl there is does not overflow anything', async () => {
    const lease = await locks.acquire('k', { ttl: Number.MAX_SAFE_INTEGER })
    await clock.advance(1_000 * dayMs)
    expect(renewedAtMs()).toEqual([])
    expect(lease.signal.aborted).toBe(false)
    await lease.release()
    expect(clock.pending).toBe(0)
  })
})

describe('many leases', () => {
  it('are renewed together: 250 in 3 commands of at most 100 per interval', async () => {
    await takeMany(250)
    // They are spread over two batches at first, which jitter merges sooner or later.
    await clock.advance(1_200_000)
    store.calls.length = 0
    await clock.advance(100_000)
    const sizes = store.called('renew').map(({ requests }) => requests.length)
    expect(Math.max(...sizes)).toBe(100)
    const batches = Map.groupBy(store.called('renew'), ({ atMs }) => Math.round(atMs / 100))
    for (const batch of batches.values()) {
      expect(batch.map(({ requests }) => requests.length).sort((a, b) => b - a)).toEqual([100, 100, 50])
    }
    expect(batches.size).toBeGreaterThanOrEqual(27)
    expect(batches.size).toBeLessThanOrEqual(34)
  })

  it('cost no more commands than their number needs, because all that are due together share one jitter', async () => {
    await takeMany(1_000)
    await clock.advance(1_200_000)
    store.calls.length = 0
    await clock.advance(1_200_000)
    // Ten commands per third of the ttl. With a jitter of its own for each command, the earliest would take the others along.
    expect(store.called('renew').length / 3_600).toBeLessThan(1.03)
  })

  it('are renewed each once per interval at most', async () => {
    await takeMany(250)
    await clock.advance(60_000)
    const perKey = Map.groupBy(
      store.called('renew').flatMap(({ requests, atMs }) => requests.map(({ key }) => ({ key, atMs }))),
      ({ key }) => key,
    )
    expect(perKey.size).toBe(250)
    for (const renewals of perKey.values()) {
      for (const gap of gaps(renewals.map(({ atMs }) => atMs))) expect(gap).toBeGreaterThan(2_000)
    }
  })

  it('taken in a burst are not renewed in a burst by every process at the same moment', async () => {
    const firsts = new Set<number>()
    for (let process = 0; process < 40; process++) {
      const own = new ScriptedStore(clock)
      const since = clock.monotonicMs()
      const lease = await createLocker({ store: own, clock }).acquire('k')
      await clock.advance(3_400)
      firsts.add(Math.round(((own.called('renew')[0]?.atMs ?? 0) - since) / 50))
      await lease.release()
    }
    expect(firsts.size).toBeGreaterThan(12)
  })

  it('have no more than 4 commands under way at once', async () => {
    await takeMany(1_000)
    store.always('renew', replyAfter(300))
    await clock.advance(30_000)
    expect(store.mostAtOnce('renew')).toBe(4)
    expect(eventsOf('lost')).toEqual([])
  })

  it('all live on while the store answers slowly', async () => {
    const leases = await takeMany(1_000)
    store.always('renew', replyAfter(700))
    await clock.advance(120_000)
    expect(leases.filter(({ signal }) => signal.aborted)).toEqual([])
  })

  it('with different ttls each keep their own', async () => {
    const short = await locks.acquire('short', { ttl: '1s' })
    const long = await locks.acquire('long', { ttl: '1m' })
    await clock.advance(60_000)
    expect([short.signal.aborted, long.signal.aborted]).toEqual([false, false])
    const ttls = (key: string) =>
      new Set(
        store.called('renew').flatMap(({ requests }) => requests.filter((it) => it.key === key).map((it) => it.ttlMs)),
      )
    expect([ttls('short'), ttls('long')]).toEqual([new Set([1_000]), new Set([60_000])])
  })

  it('with short ttls do not shorten the time in which the others are answered', async () => {
    // Its renewal has 500 ms for an answer, so an attempt has 250; the others have a second.
    const short = await locks.acquire('short', { ttl: '1500ms' })
    const long = await takeMany(20)
    store.always('renew', replyAfter(600))
    await clock.advance(30_000)
    expect(long.filter(({ signal }) => signal.aborted)).toEqual([])
    const together = store
      .called('renew')
      .filter(({ requests }) => new Set(requests.map(({ ttlMs }) => ttlMs)).size > 1)
    expect(together).toEqual([])
    await short.release()
  })

  it('with hundreds of different ttls still share their commands', async () => {
    await Promise.all(Array.from({ length: 400 }, (_, at) => locks.acquire(`k${at}`, { ttl: 2_000 + at * 10 })))
    store.always('renew', replyAfter(20))
    await clock.advance(12_000)
    const sizes = store.called('renew').map(({ requests }) => requests.length)
    expect(eventsOf('lost')).toEqual([])
    // Each is renewed 6 to 18 times, in commands of 100 if they all fell due at once.
    expect(sizes.length).toBeLessThan(200)
    expect(store.mostAtOnce('renew')).toBeLessThanOrEqual(4)
  })

  it('are judged one by one: one that is gone does not end the others', async () => {
    const leases = await takeMany(10)
    await locks.revoke('k3')
    await clock.advance(3_400)
    expect(leases.map(reasonOf)).toEqual(leases.map(({ key }) => (key === 'k3' ? 'gone' : undefined)))
  })
})
