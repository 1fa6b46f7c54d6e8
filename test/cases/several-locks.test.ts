import type { Lease, Locker } from '@leasehold/core'
import { offerMany } from '@leasehold/core/adapter'
import {
  acquireAll,
  type ManyStore,
  manyOf,
  releaseAll,
  tryAcquireAll,
  tryAcquireEach,
  withLocks,
} from '@leasehold/core/many'
import { startTcpProxy } from '@leasehold/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Shared, sharedOf } from '../../packages/core/src/key-locker.ts'
import { elderAfterMs } from '../../packages/core/src/store/many-figures.ts'
import { oneServer, type Place, placesToWait } from '../support/groups-of-locks.ts'
import { mostOvertaken, type ServedWait } from '../support/overtaken.ts'
import { elapse, limit, ms, rounds } from '../support/scale.ts'

/** The longest time that a waiter goes without asking, with some margin, in milliseconds. */
const longestPauseMs = 1_500

describe.each(placesToWait)('%s', (_, open) => {
  let place: Place
  beforeAll(async () => {
    place = await open()
  })
  afterAll(() => place[Symbol.asyncDispose]())

  const five = ['k1', 'k2', 'k3', 'k4', 'k5']
  const others = five.filter((key) => key !== 'k3')

  /** The stored locks, each with the milliseconds until its expiry; -1 for one that has none. */
  async function stored(): Promise<readonly [name: string, pttl: number][]> {
    const found = await Promise.all(
      place.nodes.map(async (node) => {
        const names = (await node.command('KEYS', 'lock:*')) as string[]
        return Promise.all(names.map(async (name) => [name, Number(await node.command('PTTL', name))] as const))
      }),
    )
    return found.flat().map(([name, pttl]) => [name, pttl])
  }

  /** How many scripts the nodes have been asked to run. */
  async function scriptCalls(): Promise<number> {
    const stats = await Promise.all(place.nodes.map((node) => node.command('INFO', 'commandstats')))
    return stats.reduce<number>((sum, text) => sum + Number(/cmdstat_evalsha:calls=(\d+)/.exec(`${text}`)?.[1] ?? 0), 0)
  }

  async function takenByAnother(locks: Locker): Promise<void> {
    const free = await Promise.all(others.map((key) => locks.tryAcquire(key)))
    expect(free.map((lease) => lease?.key)).toEqual(others)
    expect((await stored()).filter(([, pttl]) => pttl < 0)).toEqual([])
    expect(await releaseAll(free as Lease[])).toEqual(Array(4).fill('released'))
  }

  it('T-28 a set that cannot be complete leaves nothing behind', async () => {
    const [a, b, c] = [place.client({ name: 'a' }), place.client({ name: 'b' }), place.client({ name: 'c' })]
    await using held = await b.acquire('k3')
    expect(await tryAcquireAll(a, five)).toBeNull()
    await takenByAnother(c)
    const waiting = acquireAll(a, five, { wait: ms(1_000) })
    await expect(waiting).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT', key: 'k3', holder: 'b' })
    await takenByAnother(c)
    held.assertValid()
  })

  it('T-28 nor does one of which a key is no lock, or that its caller gives up', async () => {
    const [a, b, c] = [place.client(), place.client(), place.client()]
    for (const node of place.nodes) await node.command('LPUSH', 'lock:k3', 'x').catch(() => undefined)
    await expect(acquireAll(a, five)).rejects.toMatchObject({ code: 'KIND_MISMATCH', key: 'k3' })
    for (const node of place.nodes) await node.command('DEL', 'lock:k3').catch(() => undefined)
    await using held = await b.acquire('k3')
    const signal = AbortSignal.timeout(ms(500))
    await expect(acquireAll(a, five, { signal })).rejects.toMatchObject({ name: 'TimeoutError' })
    // What it had is released in the background.
    const free = await Promise.all(others.map((key) => c.acquire(key, { wait: '2s' })))
    await releaseAll([...free, held])
  })

  it.each([
    ['20 processes', 20],
    ['one process', 1],
  ])('T-29 opposite orders and repeats do not wait for each other, from %s', async (_, processes) => {
    const count = rounds(100, 3)
    const lockers = Array.from({ length: processes }, () => place.client({ wait: limit(10_000) }))
    let holders = 0
    let most = 0
    async function client(at: number): Promise<void> {
      const locks = lockers[at % processes] as Locker
      for (let round = 0; round < count; round++) {
        await withLocks(locks, (at + round) % 2 ? ['x', 'y'] : ['y', 'x'], async () => {
          most = Math.max(most, ++holders)
          await elapse(5)
          holders--
        })
      }
    }
    const callsBefore = await scriptCalls()
    const sinceMs = performance.now()
    await Promise.all(Array.from({ length: 20 }, (_, at) => client(at)))
    const tookMs = Math.round(performance.now() - sinceMs)
    const calls = (await scriptCalls()) - callsBefore
    console.log(`T-29: ${20 * count} holds of 5 ms from ${processes} lockers in ${tookMs} ms`)
    expect(most).toBe(1)
    // With many processes, each release wakes all of them.
    if (processes === 1) {
      expect(tookMs).toBeLessThan(limit(2.5 * 20 * count * 5))
      // An acquire and a release for each hold, on a cluster for each key; a tenth more for checks in a long wait.
      const callsEach = place.nodes.length > 1 ? 4 : 2
      expect(calls).toBeLessThan(1.1 * callsEach * 20 * count)
    }

    await using set = await acquireAll(lockers[0] as Locker, ['x', 'y', 'x'])
    expect([...set.leases.keys()]).toEqual(['x', 'y'])
    expect([...(await set.release()).values()]).toEqual(['released', 'released'])
    await using both = await tryAcquireAll(lockers[0] as Locker, ['x', 'y'])
    expect(both).not.toBeNull()
  })

  it('T-29 nor do sets of different size, and single locks among them', async () => {
    const lockers = Array.from({ length: 8 }, () => place.client({ ttl: '10s', wait: limit(20_000) }))
    const wishes = [['x', 'y'], ['z', 'y'], ['x', 'y', 'z'], ['z', 'x'], ['y'], ['x'], ['z', 'y', 'x'], ['z']]
    const inUse = new Set<string>()
    const served = await Promise.all(
      lockers.map(async (locks, client) => {
        const keys = wishes[client] ?? []
        for (let round = 0; round < rounds(50); round++) {
          await withLocks(locks, keys, async () => {
            for (const key of keys) expect(inUse.has(key)).toBe(false)
            for (const key of keys) inUse.add(key)
            await elapse(2)
            for (const key of keys) inUse.delete(key)
          })
        }
        return rounds(50)
      }),
    )
    expect(served).toEqual(Array(8).fill(rounds(50)))
  })

  it('a set is lost as soon as one of its locks is, and gives the others back', async () => {
    const [a, b] = [place.client(), place.client()]
    await using set = await acquireAll(a, five, { ttl: ms(5_000, 1_500) })
    const lost = new Promise((resolve) => set.signal.addEventListener('abort', resolve))
    await b.revoke('k4')
    await lost
    expect(set.signal.reason).toMatchObject({ code: 'LEASE_LOST', key: 'k4', reason: 'gone' })
    const results = await set.release()
    expect([...results.values()]).toEqual(['released', 'released', 'released', 'expired', 'released'])
  })
})

describe('T-29 sets of which each waits for who has the locks', () => {
  /**
   * Lockers that take the same locks over and over, each as soon as it has released them. Returns the share of all
   * holds that went before the most overtaken one.
   */
  async function overtaking(place: Place, change: (locks: Locker) => void = () => undefined): Promise<number> {
    const clients = 8
    const untilMs = performance.now() + ms(30_000, 5_000)
    const waits: ServedWait[] = []
    // Of a few, one or two are a large share: a busy machine may need longer for these.
    const fewest = 100
    await Promise.all(
      Array.from({ length: clients }, async () => {
        const locks = place.client({ wait: '60s' })
        change(locks)
        while (performance.now() < untilMs || waits.length < fewest) {
          const sinceMs = performance.now()
          await withLocks(locks, ['u', 'v'], async () => {
            waits.push({ sinceMs, servedMs: performance.now() })
            await elapse(5)
          })
        }
      }),
    )
    const most = mostOvertaken(waits, elderAfterMs, elderAfterMs + longestPauseMs)
    const longestMs = Math.max(...waits.map(({ sinceMs, servedMs }) => servedMs - sinceMs))
    console.log(
      `T-29: of ${waits.length} waits none was overtaken more than ${most} times; ${Math.round(longestMs)} ms at most`,
    )
    return most / waits.length
  }

  it.concurrent.each(placesToWait)('%s: none is overtaken for long by those who came later', async (_, open) => {
    await using place = await open()
    // Between two elders, until the next one has asked, others slip in: one or two where it hears of releases, a few
    // more where it polls.
    expect(await overtaking(place)).toBeLessThan(0.1)
  })

  it.concurrent('which takes a store that knows of elders', async () => {
    await using place = await oneServer()
    const share = await overtaking(place, (locks) => {
      const { store } = (sharedOf(locks) as Shared).context
      const many = manyOf(store) as ManyStore
      offerMany(store, { ...many, acquireAll: (request, call) => many.acquireAll({ ...request, waitedMs: 0 }, call) })
    })
    expect(share).toBeGreaterThan(0.3)
  })
})

describe('T-30 releasing everything that one has', () => {
  const keys = Array.from({ length: 50 }, (_, at) => `k${at}`)
  const wanted = keys.slice(10, 15)
  const ttlMs = ms(10_000)
  const leftMs = ms(400, 150)

  /**
   * A releases what it has, with little time left, over a connection on which each request takes longer. B waits for
   * part of it.
   */
  async function released(delayMs: number): Promise<Record<string, number>> {
    await using place = await oneServer()
    await using proxy = await startTcpProxy({ port: place.nodes[0]?.port ?? 0 })
    const [a, b, c] = [place.client({}, proxy.port), place.client({ name: 'b' }), place.client()]
    // So that the server knows the script, and one attempt is enough.
    await (await a.acquire('first')).release()
    const leases = await tryAcquireEach(a, keys, { ttl: ttlMs, renew: false })
    expect(leases.size).toBe(50)
    const taking = wanted.map((key) => b.acquire(key, { wait: '20s' }))
    await elapse(ttlMs - leftMs)
    proxy.delay(delayMs, 'toServer')
    const [results, taken] = await Promise.all([releaseAll(leases.values()), Promise.all(taking)])

    for (const { key, fence } of taken) expect(await c.inspect(key)).toMatchObject({ holder: 'b', fence })
    const free = await tryAcquireEach(c, keys)
    expect(free.size).toBe(45)
    await releaseAll(free.values())
    await elapse(leftMs)
    for (const lease of taken) lease.assertValid()
    expect(await releaseAll(taken)).toEqual(Array(5).fill('released'))
    return Object.fromEntries([...new Set(results)].map((how) => [how, results.filter((each) => each === how).length]))
  }

  it('frees all that is still its own when the request arrives, in one step', async () => {
    expect(await released(leftMs / 4)).toEqual({ released: 50 })
  })

  it('never frees a key that has changed hands meanwhile, and counts none that it has not freed', async () => {
    expect(await released(1.5 * leftMs)).toEqual({ expired: 45, superseded: 5 })
  })
})
