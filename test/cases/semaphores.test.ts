import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Call } from '@leasehold/core/adapter'
import { releaseAll } from '@leasehold/core/many'
import { queueOf } from '@leasehold/core/queue'
import { type PermitOptions, type Semaphore, semaphore } from '@leasehold/core/semaphore'
import { describe, expect, it } from 'vitest'
import { arenas, type RedisArena, redisArena } from '../support/arena.ts'
import type { HoldNews } from '../support/permit-worker.ts'
import { elapse, eventually, limit, ms, rounds } from '../support/scale.ts'

const program = new URL('../support/permit-worker.ts', import.meta.url)
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

interface Hold {
  readonly fromMs: number
  untilMs: number
}

/** Processes that take permits until they are killed, and what they held. */
class Crowd implements AsyncDisposable {
  readonly holds: Hold[] = []
  readonly #arena: RedisArena
  readonly #args: readonly string[]
  readonly #children: ChildProcess[] = []
  /** Processes that have held a permit. */
  readonly #working = new Set<ChildProcess>()

  constructor(arena: RedisArena, capacity: number, ttl: number, clients: number) {
    this.#arena = arena
    this.#args = [capacity, ttl, clients].map(String)
  }

  start(): void {
    const args = [String(this.#arena.server.port), this.#arena.prefix, ...this.#args]
    const child = fork(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const open = new Map<string, Hold>()
    child.on('message', (news: HoldNews) => {
      if ('enter' in news) {
        const hold = { fromMs: news.atMs, untilMs: news.atMs + news.validForMs }
        open.set(news.enter, hold)
        this.#working.add(child)
        this.holds.push(hold)
      } else {
        const hold = open.get(news.leave)
        if (hold) hold.untilMs = news.atMs
        open.delete(news.leave)
      }
    })
    // What dead processes hold, nobody uses.
    child.once('exit', () => {
      this.#working.delete(child)
      for (const hold of open.values()) hold.untilMs = Math.min(hold.untilMs, diedAtMs.get(child) ?? Infinity)
    })
    this.#children.push(child)
  }

  get working(): number {
    return this.#working.size
  }

  /** Kills one of the working processes, and starts another in its place. */
  async replaceOne(): Promise<void> {
    const victim = [...this.#working][Math.floor(Math.random() * this.working)] as ChildProcess
    this.#children.splice(this.#children.indexOf(victim), 1)
    this.start()
    await kill(victim)
  }

  async killAll(): Promise<void> {
    await Promise.all(this.#children.map(kill))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.killAll()
  }
}

const diedAtMs = new WeakMap<ChildProcess, number>()

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  diedAtMs.set(child, nowMs())
  child.kill('SIGKILL')
  await gone
}

/** The largest number of holds that overlap. */
function mostAtOnce(holds: readonly Hold[]): number {
  const steps = holds.flatMap(({ fromMs, untilMs }) => [
    { atMs: fromMs, by: 1 },
    { atMs: untilMs, by: -1 },
  ])
  steps.sort((a, b) => a.atMs - b.atMs || a.by - b.by)
  let [now, most] = [0, 0]
  for (const { by } of steps) {
    now += by
    most = Math.max(most, now)
  }
  return most
}

describe('T-22: holders that are killed', () => {
  const capacity = 10

  it('never shrink the pool for good, and never are there more than it has permits', { timeout: 600_000 }, async () => {
    await using arena = await redisArena()
    const ttl = ms(2_000, 1_000)
    // The same number of clients, but one process each is too much for `npm test`.
    const processes = rounds(20, 4)
    await using crowd = new Crowd(arena, capacity, ttl, 20 / processes)
    for (let started = 0; started < processes; started++) crowd.start()
    await eventually(() => crowd.working === processes, 120_000)
    for (let kills = rounds((60_000 / 200) * (processes / 20), 3); kills > 0; kills--) {
      await elapse(200)
      // A process takes a while to start.
      await eventually(() => crowd.working >= processes / 2)
      await crowd.replaceOne()
    }
    await crowd.killAll()
    expect(crowd.holds.length).toBeGreaterThan(capacity * 5)
    expect(mostAtOnce(crowd.holds)).toBeLessThanOrEqual(capacity)
    // Shows that the check can fail: it does count holds.
    expect(mostAtOnce(crowd.holds)).toBeGreaterThan(capacity / 2)
    await elapse(ttl + 1_000)
    const pool = semaphore(arena.client({ notifier: arena.notifier() }), 'pool', { permits: capacity })
    // A waiter killed with a turn keeps it for its window of four seconds.
    await eventually(async () => {
      const lease = await pool.tryAcquire()
      await lease?.release()
      return lease !== null
    }, limit(4_000))
    const leases = []
    for (let taken = 0; taken < capacity; taken++) leases.push(await pool.tryAcquire())
    expect(leases.every((lease) => lease !== null)).toBe(true)
    expect(await pool.tryAcquire()).toBeNull()
  })
})

describe.each(arenas)('T-23: permits that are released together, some of which have expired, on %s', (_, open) => {
  it('are each told the truth, and all of them are free', async () => {
    await using arena = await open()
    const pool = semaphore(arena.client(), 'batch', { permits: 5 })
    const brief = await Promise.all([1, 2].map(() => pool.acquire({ ttl: 500, renew: false })))
    const long = await Promise.all([1, 2, 3].map(() => pool.acquire({ ttl: '30s' })))
    await eventually(async () => (await pool.inspect()).available === 2)
    expect(await releaseAll([...brief, ...long])).toEqual(['expired', 'expired', 'released', 'released', 'released'])
    expect(await pool.inspect()).toMatchObject({ available: 5, holders: [] })
    const all = await pool.tryAcquire({ permits: 5 })
    expect(await all?.release()).toBe('released')
  })
})

describe('T-23: one request that gives back live, expired and invented permits', () => {
  it('answers for each what became of it, and frees exactly the live ones', async () => {
    await using arena = await redisArena()
    const store = arena.store()
    const pool = semaphore(arena.client({ store }), 'request', { permits: 5 })
    const brief = await Promise.all([1, 2].map(() => pool.acquire({ ttl: 500, renew: false })))
    const long = await Promise.all([1, 2, 3].map(() => pool.acquire({ ttl: '30s' })))
    await eventually(async () => (await pool.inspect()).available === 2)
    const tokens = [...brief, ...long].map(({ token }) => token)
    const invented = `${'0'.repeat(32)}.1`
    const requests = [...tokens, invented].map((token) => ({ key: 'request', exclusive: false, token, keep: 0 }))
    const outcomes = (await queueOf(store)?.release(requests, new Call(5_000))) ?? []
    expect(outcomes.map(({ type }) => type)).toEqual(['gone', 'gone', 'released', 'released', 'released', 'gone'])
    expect(await pool.inspect()).toMatchObject({ available: 5, holders: [] })
  })
})

describe.each(arenas)('a process that held 300 of 500 permits dies, on %s', (_, open) => {
  it('and all of them are free as soon as their ttl is over, for a waiter and for a try', async () => {
    await using arena = await open()
    const [ttl, dead] = [1_000, 300]
    const poolsOf = (name: string): readonly Semaphore[] => {
      const locks = arena.client({ name, notifier: arena.notifier() })
      return ['tried', 'waited'].map((key) => semaphore(locks, key, { permits: 500 }))
    }
    const take = (pools: readonly Semaphore[], count: number, options: PermitOptions) =>
      Promise.all(pools.flatMap((pool) => Array.from({ length: count }, () => pool.acquire(options))))
    const [alive, waiting] = [poolsOf('alive'), poolsOf('waiting')]
    await take(alive, 500 - dead, { ttl: '30s' })
    // A lease that is not renewed ends like that of a killed process.
    await take(poolsOf('dead'), dead, { ttl, renew: false })
    const sinceMs = performance.now()
    const [tried, waited] = waiting as [Semaphore, Semaphore]
    const acquiring = waited.acquire({ permits: dead, wait: '30s' })
    await elapse(ttl + 10)
    expect(await tried.tryAcquire({ permits: dead })).not.toBeNull()
    expect(await acquiring).toMatchObject({ permits: dead })
    expect(performance.now() - sinceMs).toBeLessThan(ttl + limit(100))
    expect((await Promise.all(waiting.map((pool) => pool.inspect()))).map(({ available }) => available)).toEqual([0, 0])
  })
})

describe.each(arenas)('T-24: several permits at once, on %s', (_, open) => {
  it('are taken all or none, and a large request is served among endless small ones', { timeout: 60_000 }, async () => {
    await using arena = await open()
    const [capacity, large, holdMs] = [4, 3, ms(100)]
    const poolsOf = (name: string) =>
      Array.from({ length: 3 }, () => {
        const locks = arena.client({ name, notifier: arena.notifier() })
        return semaphore(locks, 'weights', { permits: capacity })
      }) as [Semaphore, Semaphore, Semaphore]
    const [pools, largePools] = [poolsOf('small'), poolsOf('large')]
    let inUse = 0
    let most = 0
    const hold = async (pool: Semaphore, permits: number): Promise<void> => {
      await pool.withPermit({ permits, wait: '30s' }, async () => {
        inUse += permits
        most = Math.max(most, inUse)
        await elapse(holdMs)
        inUse -= permits
      })
    }
    let [working, looks] = [true, 0]
    const small = async (pool: Semaphore): Promise<void> => {
      while (working) await hold(pool, 1)
    }
    const watch = async (pool: Semaphore): Promise<void> => {
      while (working) {
        const { holders, available } = await pool.inspect()
        looks++
        expect(available).toBeGreaterThanOrEqual(0)
        // Never fewer, not even for a moment.
        expect(holders.filter(({ holder, permits }) => permits !== (holder === 'large' ? large : 1))).toEqual([])
        await elapse(5)
      }
    }
    const others = [...pools.map(small), small(pools[0]), watch(pools[1])]
    const client = async (index: number): Promise<void> => {
      for (let round = 0; round < rounds(20); round++) await hold(largePools[index % 3] as Semaphore, large)
    }
    await Promise.all(Array.from({ length: 6 }, (_unused, index) => client(index)))
    working = false
    await Promise.all(others)
    expect(most).toBe(capacity)
    expect(looks).toBeGreaterThan(0)
    expect(await pools[0].inspect()).toMatchObject({ available: capacity, waiting: 0 })
  })
})
