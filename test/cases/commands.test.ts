import { expect, it } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'

/** Commands the server has carried out, by name, without those of this test. */
async function commandCounts(arena: RedisArena): Promise<Record<string, number>> {
  const stats = String(await arena.command('INFO', 'commandstats'))
  const counts: Record<string, number> = {}
  for (const [, name = '', calls] of stats.matchAll(/cmdstat_([a-z|]+):calls=(\d+)/g)) counts[name] = Number(calls)
  return counts
}

it('an uncontended acquire is exactly one command, fence included, and its release another', async () => {
  await using arena = await redisArena()
  const locks = arena.client()
  await (await locks.acquire('warm')).release()
  const before = await commandCounts(arena)
  const pairs = 50
  for (let round = 0; round < pairs; round++) {
    const lease = await locks.acquire(`key-${round}`)
    expect(lease.commands).toBe(1)
    expect(lease.fence).toBeGreaterThan(0)
    await lease.release()
  }
  const after = await commandCounts(arena)
  expect((after['evalsha'] ?? 0) - (before['evalsha'] ?? 0)).toBe(2 * pairs)
  for (const name of ['eval', 'multi', 'watch', 'script|load', 'subscribe']) expect(after[name]).toBe(before[name])
  // What the scripts did: lock, record, and the record's mark. A client's own commands would show here, too.
  expect((after['set'] ?? 0) - (before['set'] ?? 0)).toBe(3 * pairs)
  expect((after['del'] ?? 0) - (before['del'] ?? 0)).toBe(pairs)
})

it('a budget ends the wait, and the commands used are on the error and on the lease', async () => {
  await using arena = await redisArena()
  const holder = await arena.client().acquire('budget')
  const error = await arena
    .client()
    .acquire('budget', { wait: '5s', budget: 4 })
    .catch((e: unknown) => e)
  expect(error).toMatchObject({ code: 'ACQUIRE_TIMEOUT', commands: 4 })
  await holder.release()
  expect((await arena.client().acquire('budget')).commands).toBe(1)
})
