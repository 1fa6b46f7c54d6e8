import type { LockerEvent } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { startTcpProxy } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'
import { elapse, eventually, ms } from '../support/scale.ts'

/**
 * How two calls of one process end when their waits are over: one tries the store, the other stands in line.
 *
 * @param meanwhile what happens once both know that somebody has the lock
 * @param store by default over its own way to the server
 */
async function endings(
  arena: RedisArena,
  waitMs: number,
  meanwhile: (startedAt: number) => Promise<void>,
  store: LeaseStore = arena.store(),
): Promise<readonly object[]> {
  const events: LockerEvent[] = []
  // With this ttl an attempt has half a second, so that several are over before the wait is.
  const options = { ttl: '3s', wait: waitMs, onEvent: (event: LockerEvent) => events.push(event) } as const
  const b = arena.client({ store, notifier: arena.notifier(), ...options })
  await b.isLocked('warm')
  const startedAt = performance.now()
  const waits = Promise.allSettled([b.acquire('t75'), b.acquire('t75')])
  await eventually(() => events.length === 2)
  expect(events.map(({ type }) => type)).toEqual(['contended', 'contended'])
  await meanwhile(startedAt)
  return await waits
}

const unavailable = (details: object): object => ({
  status: 'rejected',
  reason: expect.objectContaining({ code: 'STORE_UNAVAILABLE', ...details }),
})

describe.concurrent('T-75: a store that dies while somebody waits is not reported as contention', () => {
  const waitMs = ms(6_000, 3_000)

  it.each([
    ['whose time is over soon', { ttl: '1s', renew: false }],
    ['whose lease outlasts the wait', { ttl: '30s' }],
  ] as const)('killed, with a holder %s', async (_, options) => {
    await using arena = await redisArena()
    await arena.client().acquire('t75', options)
    const ends = await endings(arena, waitMs, async () => {
      await elapse(ms(500))
      await arena.server.kill()
    })
    expect(ends).toEqual([unavailable({}), unavailable({})])
  })

  it('full, so that it refuses every write after the holder has gone', async () => {
    await using arena = await redisArena()
    const holder = await arena.client().acquire('t75', { ttl: '30s' })
    const ends = await endings(arena, waitMs, async () => {
      await arena.command('CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction')
      expect(await holder.release()).toBe('released')
    })
    const cause = expect.objectContaining({ message: expect.stringContaining('OOM') })
    expect(ends[0]).toEqual(unavailable({ executed: 'no', cause }))
    expect(ends[1]).toEqual(unavailable({ executed: 'no' }))
  })

  it('gone, when an attempt before may have been carried out', async () => {
    await using arena = await redisArena()
    await using proxy = await startTcpProxy({ port: arena.server.port })
    await arena.client().acquire('t75', { ttl: '30s' })
    const tellAll = async (): Promise<void> => {
      const deliver = proxy.holdReplies()
      await proxy.nextRequest()
      // The attempt is over, and its answer is lost; later requests do not even arrive.
      await elapse(600)
      proxy.refuse()
      proxy.cut()
      deliver()
    }
    const ends = await endings(arena, waitMs, tellAll, arena.store(proxy.port))
    expect(ends[0]).toEqual(unavailable({ executed: 'unknown' }))
    expect(ends[1]).toEqual(unavailable({}))
  })

  it('but one that is silent only while the last attempt was cut short by the end of the wait is no evidence', async () => {
    await using arena = await redisArena()
    await arena.client().acquire('t75', { ttl: '30s' })
    const ends = await endings(arena, 2_000, async (startedAt) => {
      // The end of the wait is less than an attempt away.
      await elapse(startedAt + 1_750 - performance.now())
      arena.server.pause()
    })
    arena.server.resume()
    const busy = { status: 'rejected', reason: expect.objectContaining({ code: 'ACQUIRE_TIMEOUT' }) }
    expect(ends).toEqual([busy, busy])
  })
})
