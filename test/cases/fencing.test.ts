import { fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { arenas, redisArena } from '../support/arena.ts'
import { rounds } from '../support/scale.ts'

const worker = new URL('../support/fence-worker.ts', import.meta.url)

describe.each(arenas)('fences on %s', (_, open) => {
  it('a waiter that is handed an evicted lock has a lower fence than the new holder, and is told of the loss', async () => {
    await using arena = await open()
    const a = arena.client({ ttl: '3s' })
    const first = await a.acquire('evicted')
    const waiting = a.acquire('evicted')
    await arena.remove('evicted')
    const other = await arena.client().acquire('evicted', { ttl: '30s' })
    // The process hands it off without asking the store.
    expect(await first.release()).toBe('released')
    const passed = await waiting
    expect(passed.fence).toBeGreaterThan(first.fence as number)
    expect(passed.fence).toBeLessThan(other.fence as number)
    if (!passed.signal.aborted) await once(passed.signal, 'abort')
    expect(passed.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'superseded' })
    expect(await other.release()).toBe('released')
  })

  it('T-68: fences rise with each hold, and stay the same within one', async () => {
    await using arena = await open()
    const clients = [arena.client(), arena.client(), arena.client()]
    let last = 0
    for (let round = 0; round < rounds(300); round++) {
      const lease = await clients[round % 3]?.acquire('t68')
      const fence = lease?.fence as number
      expect(Number.isSafeInteger(fence)).toBe(true)
      expect(fence).toBeGreaterThan(last)
      last = fence
      if (round % 10 === 0) {
        await lease?.renew({ ttl: '20s' })
        await lease?.renew({ by: '1s' })
        expect(lease?.fence).toBe(fence)
        expect(await arena.client().inspect('t68')).toMatchObject({ held: true, fence })
      }
      await lease?.release()
    }
  })
})

it('T-68: fences rise across processes that are restarted in between', async () => {
  await using arena = await redisArena()
  const fences: number[] = []
  for (let generation = 0; generation < 3; generation++) {
    const children = await Promise.all(
      [0, 1, 2].map(async () => {
        const child = fork(worker, [arena.server.url, arena.prefix, String(rounds(100, 8))], { stdio: 'inherit' })
        child.on('message', (fence) => fences.push(fence as number))
        const [code] = await once(child, 'exit')
        return code
      }),
    )
    expect(children).toEqual([0, 0, 0])
  }
  expect(fences).toHaveLength(9 * rounds(100, 8))
  // Each holder appends to the log while it holds, so the log has the order in which holds began.
  const log = (await arena.command('LRANGE', `${arena.prefix}log`, 0, -1)) as string[]
  const logged = log.map(Number)
  expect(logged).toHaveLength(fences.length)
  expect(logged).toEqual([...logged].sort((one, other) => one - other))
  expect(new Set(logged).size).toBe(logged.length)
})

it('fences stay exact and rising when the record says more than the clock', async () => {
  await using arena = await redisArena()
  const future = 9_000_000_000_000_000
  await arena.command('SET', `{${arena.prefix}ahead}:fence`, `${'0'.repeat(32)}.${future}`, 'PX', 60_000)
  const locks = arena.client()
  const first = await locks.acquire('ahead')
  expect(first.fence).toBe(future + 1)
  await first.release()
  const second = await locks.acquire('ahead')
  // A grant reserves as many fences as it may have holders in one process.
  expect(second.fence).toBe(future + 18)
  expect(second.token.endsWith(`.${future + 18}`)).toBe(true)
  await second.release()
})

it('fences rise although the server has forgotten all records', async () => {
  await using arena = await redisArena()
  let last = 0
  for (const forget of [() => arena.command('FLUSHALL'), () => arena.server.restart(), () => undefined]) {
    // A different process each time: the previous one still believes it has the lock.
    const { fence } = await arena.client().acquire('forgotten', { renew: false })
    expect(fence).toBeGreaterThan(last)
    last = fence as number
    await forget()
  }
})

it('the fence record is kept for the longer of the ttl and the fence memory, ten minutes by default', async () => {
  await using arena = await redisArena()
  const keptMs = async (key: string): Promise<number> =>
    Number(await arena.command('PTTL', `{${arena.prefix}${key}}:fence`))
  const lease = await arena.client().acquire('remembered', { ttl: '1s', renew: false })
  expect(await keptMs('remembered')).toBeGreaterThan(590_000)
  expect(await keptMs('remembered')).toBeLessThanOrEqual(600_000)
  await lease.renew({ ttl: '1h' })
  expect(await keptMs('remembered')).toBeGreaterThan(3_590_000)
  // A release does not shorten that.
  await lease.release()
  expect(await keptMs('remembered')).toBeGreaterThan(3_590_000)
})
