import { createLocker, type LockerEvent } from '@leasehold/core'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { arenas, redisArena } from '../support/arena.ts'
import { elapse, eventually, ms } from '../support/scale.ts'

describe.each(arenas)('closing on %s', (_, open) => {
  it('T-71: what outlasts its ttl is renewed through the grace, and no rival gets in', async () => {
    await using arena = await open()
    const events: LockerEvent[] = []
    const locks = arena.client({ onEvent: (event) => events.push(event) })
    const rival = arena.client()
    let working = true
    let endedAt = 0
    const inside = Promise.withResolvers<void>()
    const work = locks.withLock('t71', { ttl: '1s' }, async (lease) => {
      inside.resolve()
      await elapse(ms(5_000, 2_500))
      endedAt = performance.now()
      working = false
      return lease.remaining() > 0
    })
    await inside.promise
    await elapse(300)
    const closed = locks.close({ grace: '10s' })
    await expect(locks.tryAcquire('other')).rejects.toMatchObject({ code: 'CLOSED' })
    let rivalsInside = 0
    while (working) {
      const granted = await rival.tryAcquire('t71')
      if (granted && working) rivalsInside++
      await granted?.release()
      await elapse(ms(1_000))
    }
    expect(rivalsInside).toBe(0)
    expect(await work).toBe(true)
    await closed
    // The close ends with the work, not with the grace.
    expect(performance.now() - endedAt).toBeLessThan(3_000)
    expect(events.filter(({ type }) => type === 'lost')).toEqual([])
    expect(events).toContainEqual(expect.objectContaining({ type: 'released', outcome: 'released' }))
    expect(await rival.tryAcquire('t71')).not.toBeNull()
  })

  it('work that outlasts the grace is told, and others get the lock', async () => {
    await using arena = await open()
    const locks = arena.client()
    const told = Promise.withResolvers<unknown>()
    const inside = Promise.withResolvers<void>()
    const work = locks.withLock('late', { ttl: '30s' }, async ({ signal }) => {
      signal.addEventListener('abort', () => told.resolve(signal.reason))
      inside.resolve()
      await told.promise
      return 'stopped'
    })
    await inside.promise
    const ended = expect(work).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'closed', result: 'stopped' })
    await locks.close({ grace: ms(1_000) })
    expect(await told.promise).toMatchObject({ code: 'LEASE_LOST', reason: 'closed' })
    await ended
    expect(await arena.client().tryAcquire('late')).not.toBeNull()
  })
})

it('T-71: work whose client is gone before it has ended is told that its lease is lost', async () => {
  await using arena = await redisArena()
  const connection = new Redis(arena.server.port)
  const locks = createLocker({ store: ioredisStore(connection, { prefix: arena.prefix }) })
  const ttl = 1_000
  let toldAt = 0
  const inside = Promise.withResolvers<void>()
  const work = locks.withLock('t71', { ttl }, async ({ signal }) => {
    inside.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    toldAt = performance.now()
    return 'stopped'
  })
  await inside.promise
  const closed = locks.close({ grace: '10s' })
  await connection.quit()
  const goneAt = performance.now()
  await expect(work).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'unreachable', result: 'stopped' })
  expect(toldAt - goneAt).toBeLessThan(ttl + 1_000)
  await closed
  expect(performance.now() - toldAt).toBeLessThan(3_000)
  const next = await arena.client().acquire('t71', { wait: '5s' })
  expect(await next.release()).toBe('released')
})

it('T-71: closes in the first milliseconds of a first wait leave no connection', async () => {
  await using arena = await redisArena()
  const holder = await arena.client().acquire('t71', { ttl: '5m' })
  const connection = new Redis(arena.server.port)
  await connection.ping()
  const connections = async (): Promise<number> =>
    String(await arena.command('CLIENT', 'LIST'))
      .trim()
      .split('\n').length
  const before = await connections()
  const options = { prefix: arena.prefix }
  for (let delayMs = 0; delayMs < 10; delayMs++) {
    const locks = createLocker({
      store: ioredisStore(connection, options),
      notifier: ioredisNotifier(connection, options),
    })
    const ended = expect(locks.acquire('t71', { wait: '30s' })).rejects.toMatchObject({ code: 'CLOSED' })
    await elapse(delayMs)
    await locks.close()
    await ended
  }
  // A connection still being made may open after its locker has closed, and has to be closed again.
  await elapse(ms(1_000))
  await eventually(async () => (await connections()) === before)
  connection.disconnect()
  await holder.release()
})
