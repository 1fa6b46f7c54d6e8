import { fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { arenas, redisArena } from '../support/arena.ts'
import { rounds } from '../support/scale.ts'

const worker = new URL('../support/fence-worker.ts', import.meta.url)

describe.each(arenas)('fences on %s', (_, open) => {
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
  // The order in which holds began is the order of the log that each holder appends to while it holds.
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
