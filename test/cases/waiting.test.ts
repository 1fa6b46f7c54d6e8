import { fork } from 'node:child_process'
import { getEventListeners, once } from 'node:events'
import { createLocker, type Lease, type Locker } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { seededRandom, startTcpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedisCluster } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'
import { heapBytes } from '../support/heap.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually, limit, ms, rounds } from '../support/scale.ts'
import { clients } from '../topologies/clients.ts'

/** A locker woken by pub/sub; its subscriber may take a different way from its commands. */
function wokenLocker(arena: RedisArena, subscriberPort = arena.server.port): { locks: Locker; close(): Promise<void> } {
  const commands = quiet(new Redis(arena.server.port))
  const subscriber = quiet(new Redis(subscriberPort))
  const { prefix } = arena
  const locks = createLocker({
    store: ioredisStore(commands, { prefix }),
    notifier: ioredisNotifier(subscriber, { prefix }),
  })
  return {
    locks,
    async close() {
      await locks.close({ grace: 0 })
      commands.disconnect()
      subscriber.disconnect()
    },
  }
}

it('T-12: a release before the subscription is live is not missed', async () => {
  await using arena = await redisArena()
  await using proxy = await startTcpProxy({ port: arena.server.port })
  const { random } = seededRandom()
  const a = arena.client()
  const lateMs = ms(800)
  proxy.delay(lateMs, 'toClient')

  async function oneRound(key: string): Promise<void> {
    // A new subscriber connection each time, with late answers.
    const b = wokenLocker(arena, proxy.port)
    const holder = await a.acquire(key, { ttl: '30s' })
    const acquiring = b.locks.acquire(key, { recheck: '10s', wait: '20s' })
    await elapse(random() * ms(1_000))
    await holder.release()
    const releasedAt = performance.now()
    await (await acquiring).release()
    // It connects and subscribes, which are two late answers, and then checks once more.
    expect(performance.now() - releasedAt).toBeLessThan(2 * lateMs + limit(1_000))
    await b.close()
  }

  // Side by side on separate keys: each round mostly waits.
  const keys = Array.from({ length: 8 }, (_, index) => `t12-${index}`)
  await Promise.all(
    keys.map(async (key) => {
      for (let round = 0; round < rounds(25, 1); round++) await oneRound(key)
    }),
  )
}, 300_000)

it('all messages are lost: each waiter is granted within its recheck', async () => {
  await using arena = await redisArena()
  await using proxy = await startTcpProxy({ port: arena.server.port })
  const b = wokenLocker(arena, proxy.port)
  const holder = await arena.client().acquire('unheard', { ttl: '30s' })
  const acquiring = b.locks.acquire('unheard', { recheck: '1s', wait: '20s' })
  const heard = async (): Promise<boolean> =>
    ((await arena.command('PUBSUB', 'NUMSUB', `${arena.prefix}release:unheard`)) as unknown[])[1] === 1
  await eventually(heard)
  await elapse(50)
  proxy.blackHole()
  await holder.release()
  const releasedAt = performance.now()
  await (await acquiring).release()
  expect(performance.now() - releasedAt).toBeLessThan(limit(2_500))
  proxy.cut()
  await b.close()
})

it('T-14: hundreds of waiters do not hammer the store', async () => {
  await using arena = await redisArena()
  const processes = 4
  const waiters = rounds(200, 80)
  const holder = await arena.client().acquire('t14', { ttl: '60s' })
  const children = Array.from({ length: processes }, () =>
    fork(new URL('../support/waiters-worker.ts', import.meta.url), [
      String(arena.server.port),
      arena.prefix,
      String(waiters / processes),
    ]),
  )
  await Promise.all(children.map((child) => once(child, 'message')))
  const calls = async (): Promise<number> =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(await arena.command('INFO', 'commandstats')))?.[1])
  const atRest = await calls()
  const restedAt = performance.now()
  await elapse(ms(10_000))
  const idle = (await calls()) - atRest
  const idleMs = Math.round(performance.now() - restedAt)
  const served = children.map((child) => once(child, 'message'))
  const exits = children.map((child) => once(child, 'exit'))
  await holder.release()
  const counts = (await Promise.all(served)).map(([message]) => (message as { served: number }).served)
  const serving = (await calls()) - atRest - idle
  console.log(
    `${waiters} waiters in ${processes} processes: ${idle} commands in ${idleMs} ms at rest, ${serving} to serve them all`,
  )
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(waiters)
  // One waiter per process checks, once per recheck; the holder renews now and then.
  expect(idle).toBeLessThanOrEqual(processes * (idleMs / 1_000 + 1) + 2)
  expect(serving).toBeLessThanOrEqual(3 * waiters)
  await Promise.all(exits)
}, 120_000)

it('T-15: five that start together behind one long critical section run one after another, or are told', async () => {
  await using arena = await redisArena()
  const lockers = Array.from({ length: 5 }, () => wokenLocker(arena))
  const section = ms(15_000)
  const defaults = await Promise.allSettled(
    lockers.map(({ locks }) => locks.withLock('boot', { wait: ms(10_000) }, () => elapse(section))),
  )
  const [first, ...rest] = defaults.sort((one, other) => one.status.localeCompare(other.status))
  expect(first?.status).toBe('fulfilled')
  for (const told of rest) expect(told).toMatchObject({ status: 'rejected', reason: { code: 'ACQUIRE_TIMEOUT' } })

  let inside = 0
  const runs = lockers.map(({ locks }) =>
    locks.withLock('boot', { wait: '60s' }, async () => {
      expect(++inside).toBe(1)
      await elapse(ms(1_000))
      inside--
    }),
  )
  await Promise.all(runs)
  await Promise.all(lockers.map(({ close }) => close()))
}, 120_000)

it('10,000 waiters on 100 keys in one process, all aborted, leave nothing behind', async () => {
  await using arena = await redisArena()
  const holders = await Promise.all(
    Array.from({ length: 100 }, (_, key) => arena.client().acquire(`many-${key}`, { ttl: '5m' })),
  )
  const { locks, close } = wokenLocker(arena)
  await locks.isLocked('warm')
  const leaving = new AbortController()
  const before = await heapBytes()
  const waits = Promise.allSettled(
    Array.from({ length: 10_000 }, (_, index) =>
      locks.acquire(`many-${index % 100}`, { signal: leaving.signal, wait: '5m' }),
    ),
  )
  const subscribed = async (): Promise<number> =>
    ((await arena.command('PUBSUB', 'CHANNELS', `${arena.prefix}release:*`)) as unknown[]).length
  await eventually(async () => (await subscribed()) === 100)
  const perWaiter = ((await heapBytes()) - before) / 10_000
  leaving.abort(new Error('all leave'))
  expect((await waits).every(({ status }) => status === 'rejected')).toBe(true)
  await eventually(async () => (await subscribed()) === 0)
  const left = (await heapBytes()) - before
  console.log(`10,000 waiters: ${Math.round(perWaiter)} bytes each while they wait, ${Math.round(left / 10_000)} after`)
  expect(getEventListeners(leaving.signal, 'abort')).toEqual([])
  expect(perWaiter).toBeLessThan(2_500)
  expect(left).toBeLessThan(2_000_000)
  await Promise.all(holders.map((holder) => holder.release()))
  await close()
}, 60_000)

it.concurrent.each(
  (['channels', 'pattern'] as const).flatMap((mode) => clients.map((client) => ({ mode, client, over: client.name }))),
)(
  'T-73: the node with the subscription dies ($mode, over $over)',
  async ({ mode, client }) => {
    await using cluster = await startRedisCluster({ args: ['--cluster-require-full-coverage', 'no'] })
    const [holding, waiting] = [client.toCluster(cluster.nodes), client.toCluster(cluster.nodes, { mode })]
    const { store } = waiting
    const refusals = new Map<string, number>()
    const acquire: LeaseStore['acquire'] = async (requests, signal) => {
      const outcomes = await store.acquire(requests, signal)
      for (const [at, { key }] of requests.entries()) {
        if (outcomes[at]?.type === 'held') refusals.set(key, (refusals.get(key) ?? 0) + 1)
      }
      return outcomes
    }
    const holder = createLocker({ store: holding.store })
    const waiter = createLocker({ store: { ...store, acquire }, notifier: waiting.notifier })
    /** Waits for held keys, until each wait has its subscription and has been refused once more after that. */
    async function waitFor(keys: readonly string[]): Promise<readonly Promise<Lease>[]> {
      const acquiring = keys.map((key) => waiter.acquire(key, { recheck: '20s', wait: '50s' }))
      await eventually(() => keys.every((key) => (refusals.get(key) ?? 0) >= 2))
      return acquiring
    }
    const subscribers = async (node: RedisServer): Promise<number> =>
      String(await node.command('CLIENT', 'LIST', 'TYPE', 'pubsub')).split(' addr=').length - 1
    const counts = (nodes: readonly RedisServer[]): Promise<number[]> => Promise.all(nodes.map(subscribers))

    // A first wait shows which node that is: the connection stays there.
    const first = await holder.acquire('first')
    const [firstWait] = await waitFor(['first'])
    const dying = cluster.nodes[(await counts(cluster.nodes)).indexOf(1)] as RedisServer
    const living = cluster.nodes.filter((node) => node !== dying)
    await first.release()
    await (await firstWait)?.release()

    const keys: string[] = []
    for (let at = 0; keys.length < 6; at++) {
      const key = `t73-${at}`
      if ((await cluster.nodeOf(`lock:${key}`)) !== dying) keys.push(key)
    }
    const holders = await Promise.all(keys.map((key) => holder.acquire(key, { ttl: '60s' })))
    const waits = await waitFor(keys)
    expect(await counts(cluster.nodes)).toContain(1)
    await dying.kill()
    const releasedAt = performance.now()
    await Promise.all(holders.map((held) => held.release()))
    const leases = await Promise.all(waits)
    expect(performance.now() - releasedAt).toBeLessThan(5_000)
    // Refused twice, then granted when it checks again; or refused again, and granted when it hears the release.
    for (const { commands } of leases) expect(commands).toBeLessThanOrEqual(4)
    expect((await counts(living)).toSorted()).toEqual([0, 1])
    await Promise.all(leases.map((lease) => lease.release()))
    await Promise.all([holder.close({ grace: 0 }), waiter.close({ grace: 0 })])
    await eventually(async () => (await counts(living)).every((count) => count === 0))
    for (const { close } of [holding, waiting]) close()
  },
  60_000,
)
