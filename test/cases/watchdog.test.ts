import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createLocker, type Lease, type LockerEvent } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { seededRandom, startTcpProxy } from '@leasehold/testkit'
import { Redis } from 'ioredis'
import { afterEach, expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { quiet } from '../support/quiet.ts'
import { elapse, eventually, limit, ms, rounds } from '../support/scale.ts'

const lostSignal = (lease: Lease): Promise<unknown> =>
  new Promise((resolve) => lease.signal.addEventListener('abort', () => resolve(lease.signal.reason)))

// Side by side, since they mostly wait. Those about a busy process have the machine to themselves.
it.concurrent('T-05: an acquire that timed out leaves no immortal lock', async () => {
  await using arena = await redisArena()
  const a = arena.client()
  await a.isLocked('warm')
  arena.server.pause()
  const failed = a.acquire('t05', { ttl: ms(3_000), wait: ms(2_000) })
  await expect(failed).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await elapse(ms(2_000))
  arena.server.resume()
  const resumedAt = performance.now()
  const b = await arena.client().acquire('t05', { wait: '10s', ttl: '10s' })
  expect(performance.now() - resumedAt).toBeLessThan(ms(3_000) + limit(1_000))
  // Nobody else renews the lock, and nobody takes it away again.
  await elapse(ms(4_000))
  await b.renew({ ttl: '20s' })
  expect(await b.release()).toBe('released')
})

it.concurrent('T-06: a release and a renewal at the same instant raise no false alarm', async () => {
  await using arena = await redisArena()
  await using proxy = await startTcpProxy({ port: arena.server.port })
  const { random } = seededRandom()
  const events: LockerEvent[] = []
  const renewals = new EventEmitter().setMaxListeners(0)
  const told = (store: LeaseStore): LeaseStore => ({
    ...store,
    renew(requests, signal) {
      for (const { key } of requests) renewals.emit(key)
      return store.renew(requests, signal)
    },
  })
  const workers = rounds(32, 8)
  const lockers = Array.from({ length: 4 }, () =>
    arena.client({ store: told(arena.store(proxy.port)), ttl: '2s', onEvent: (event) => events.push(event) }),
  )
  await Promise.all(lockers.map((locker) => locker.isLocked('warm')))
  const work = async (worker: number): Promise<void> => {
    for (let round = 0; round < rounds(500, 8); round++) {
      proxy.delay(random() * 10)
      const key = `t06-${worker}`
      const lease = await lockers[worker % 4]?.acquire(key, { wait: '20s' })
      // Held for up to two renewals, and released before, while or after the last one is answered.
      for (let left = Math.floor(random() * 3); left > 0; left--) await once(renewals, key)
      await elapse(random() * 30)
      await lease?.release()
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  proxy.delay(0)
  expect(events.filter(({ type }) => type === 'lost')).toEqual([])
  expect(events.filter((event) => event.type === 'released' && event.outcome !== 'released')).toEqual([])
  expect((await arena.command('KEYS', `${arena.prefix}*`)) as unknown[]).toEqual([])
}, 600_000)

it.concurrent('T-07: after a loss, the next hold of the same key is renewed again', async () => {
  await using arena = await redisArena()
  await using proxy = await startTcpProxy({ port: arena.server.port })
  const a = arena.client({ store: arena.store(proxy.port), ttl: '2s' })
  const first = await a.acquire('t07')
  proxy.refuse()
  proxy.cut()
  expect(await lostSignal(first)).toMatchObject({ reason: 'unreachable' })
  await proxy.accept()

  const second = await a.acquire('t07', { wait: '15s' })
  const b = arena.client()
  const until = performance.now() + ms(10_000, 4_000)
  while (performance.now() < until) {
    expect(await b.tryAcquire('t07')).toBeNull()
    await elapse(ms(500))
  }
  second.assertValid()
  expect(await second.release()).toBe('released')
})

it.concurrent('T-08: a wedged holder is cut off by its maximum hold', async () => {
  await using arena = await redisArena()
  const a = arena.client()
  let lost = 0
  const inside = Promise.withResolvers<void>()
  const [ttl, maxHold] = [ms(2_000, 2_000), ms(6_000, 3_000)]
  const startedAt = performance.now()
  const wedged = a.withLock(
    't08',
    { ttl, maxHold },
    (lease) =>
      new Promise((resolve) => {
        inside.resolve()
        lease.signal.addEventListener('abort', () => {
          lost = performance.now() - startedAt
          expect(lease.signal.reason).toMatchObject({ reason: 'max-hold' })
          resolve(undefined)
        })
      }),
  )
  await inside.promise
  const b = arena.client().acquire('t08', { wait: '20s' })
  await expect(wedged).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'max-hold' })
  expect(lost).toBeGreaterThan(maxHold - 50)
  expect(lost).toBeLessThan(maxHold + limit(500))
  await (await b).release()
  expect(performance.now() - startedAt).toBeLessThan(maxHold + ttl + limit(1_000))
})

it.concurrent('the story of two servers: work longer than the ttl is renewed, and the other gets the lock on release', async () => {
  await using arena = await redisArena()
  const connection = quiet(new Redis(arena.server.port))
  const options = { prefix: arena.prefix }
  const b = createLocker({
    store: ioredisStore(connection, options),
    notifier: ioredisNotifier(connection, options),
    recheck: ms(1_000),
  })
  const [ttl, workMs, wait] = [ms(5_000, 2_000), ms(5_500, 2_200), ms(10_000, 4_000)]
  const startedAt = performance.now()
  const work = arena.client().withLock('story', { ttl }, () => elapse(workMs))
  await eventually(() => b.isLocked('story'))
  const lease = await b.acquire('story', { ttl, wait })
  const waitedMs = performance.now() - startedAt
  expect(waitedMs).toBeGreaterThan(workMs - 50)
  expect(waitedMs).toBeLessThan(workMs + limit(500))
  await work
  await expect(arena.client().acquire('story', { wait })).rejects.toMatchObject({
    code: 'ACQUIRE_TIMEOUT',
  })
  await lease.release()
  await b.close()
  connection.disconnect()
})

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

it.each([
  ['T-31: 5,000 leases on a slow link', rounds(5_000, 2_000), 5],
  ['10,000 leases', rounds(10_000, 4_000), 0],
])(
  '%s are renewed in time by a process that is busy for three fifths of its time',
  async (_, locks, latencyMs) => {
    await using arena = await redisArena()
    await using proxy = await startTcpProxy({ port: arena.server.port })
    const child = fork(new URL('../support/many-leases-worker.ts', import.meta.url), [
      String(proxy.port),
      arena.prefix,
      String(locks),
      '6000',
    ])
    children.push(child)
    const [taken] = (await once(child, 'message')) as [{ taken: number }]
    expect(taken.taken).toBe(locks)
    proxy.delay(latencyMs)
    const calls = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(await arena.command('INFO', 'commandstats')))?.[1])
    const before = await calls()
    const measuredMs = ms(60_000)
    const until = performance.now() + measuredMs
    let least = Number.POSITIVE_INFINITY
    while (performance.now() < until) {
      for (let sample = 0; sample < 20; sample++) {
        const key = Math.floor((sample * locks) / 20)
        least = Math.min(least, Number(await arena.command('PTTL', `${arena.prefix}k${key}`)))
      }
      await elapse(100)
    }
    const perInterval = ((await calls()) - before) / (measuredMs / 2_000)
    console.log(
      `${locks} leases of 6 s, 60 % busy: ${perInterval.toFixed(1)} script calls per interval of 2 s, least time seen ${least} ms`,
    )
    expect(least).toBeGreaterThan(2_000)
    expect(perInterval).toBeLessThanOrEqual(1.2 * (locks / 100))
    child.send('end')
    const [ended] = (await once(child, 'message')) as [{ lost: number }]
    expect(ended.lost).toBe(0)
  },
  150_000,
)
