import { expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { eventually } from '../support/scale.ts'

it('T-36: a flushed script cache is invisible in every operation', async () => {
  await using arena = await redisArena()
  const events: string[] = []
  const locks = arena.client({ onEvent: (event) => events.push(event.type) })
  const flush = async (): Promise<void> => {
    await arena.command('SCRIPT', 'FLUSH')
  }
  await flush()
  const lease = await locks.acquire('t36', { ttl: '6s', wait: 0 })
  await flush()
  await lease.renew({ ttl: '7s' })
  await flush()
  expect(await locks.tryAcquire('t36')).toBeNull()
  await flush()
  expect(await locks.inspect('t36')).toMatchObject({ held: true })
  // A scheduled renewal, with the cache flushed before it.
  await flush()
  const expiry = async (): Promise<number> => Number(await arena.command('PTTL', `${arena.prefix}t36`))
  let least = await expiry()
  await eventually(async () => {
    const present = await expiry()
    if (present > least + 50) return true
    least = Math.min(least, present)
    return false
  })
  await flush()
  expect(await lease.release()).toBe('released')
  await flush()
  expect(await locks.revoke('t36')).toBe(false)
  expect(events).not.toContain('renewal-unanswered')
  expect(events).not.toContain('lost')
  // Each of the seven was refused by its hash first, and then sent as text.
  const stats = String(await arena.command('INFO', 'commandstats'))
  expect(Number(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1])).toBeGreaterThanOrEqual(7)
})

it('T-36: a restart with the data kept is survived by a held lease and by new calls', async () => {
  await using arena = await redisArena()
  const locks = arena.client()
  const lease = await locks.acquire('kept', { ttl: '20s', renew: false })
  await arena.server.restart({ keepData: true })
  await lease.renew({ ttl: '30s' })
  expect(await locks.tryAcquire('kept')).toBeNull()
  expect(await lease.release()).toBe('released')
  const next = await locks.acquire('kept', { wait: 0 })
  expect(next.fence).toBeGreaterThan(lease.fence as number)
  await next.release()
})
