import { LeaseholdError, type LeaseLostError } from '@leasehold/core'
import { startTcpProxy } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { arenas, redisArena } from '../support/arena.ts'
import { elapse, limit, ms } from '../support/scale.ts'

it('T-16: aborting an acquire in flight frees what it may have taken', async () => {
  await using arena = await redisArena()
  await using proxy = await startTcpProxy({ port: arena.server.port })
  const a = arena.client({ store: arena.store(proxy.port) })
  // The server knows every script, so that the acquire is one request.
  await (await a.acquire('warm')).release()
  const deliver = proxy.holdReplies()
  const arrived = proxy.nextReply()
  const leaving = new AbortController()
  const acquiring = a.acquire('t16', { ttl: '10s', signal: leaving.signal })
  await arrived
  // The store has granted it, and no reply has come through yet.
  expect(await arena.command('EXISTS', `${arena.prefix}t16`)).toBe(1)
  const reason = new Error('the caller left')
  leaving.abort(reason)
  await expect(acquiring).rejects.toBe(reason)

  const b = await arena.client().acquire('t16', { wait: '5s' })
  await b.release()
  deliver()
  // Nobody renews or takes it when the late replies arrive.
  await elapse(ms(1_000))
  expect(await arena.command('EXISTS', `${arena.prefix}t16`)).toBe(0)
})

describe.each(arenas)('endings on %s', (_, open) => {
  it('T-17: busy, lost midway, and the user’s own error are told apart', async () => {
    await using arena = await open()
    const a = arena.client()
    const b = arena.client()

    const holder = await a.acquire('busy')
    await expect(b.acquire('busy', { wait: ms(500) })).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT', key: 'busy' })
    expect(await b.tryAcquire('busy')).toBeNull()
    await holder.release()

    const taken = b.withLock('taken', { ttl: ms(3_000) }, async (lease) => {
      await arena.supersede('taken')
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
      return 'done anyway'
    })
    await expect(taken).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'superseded', result: 'done anyway' })

    const own = new TypeError('mine')
    await expect(
      b.withLock('own', async () => {
        throw own
      }),
    ).rejects.toBe(own)
    expect(await b.isLocked('own')).toBe(false)

    const both = b.withLock('both', async () => {
      await arena.supersede('both')
      throw own
    })
    await expect(both).rejects.toBe(own)
  })

  it('T-18: a scoped run settles promptly after its lease is known to be lost', async () => {
    await using arena = await open()
    let returnedAt = 0
    const run = arena.client().withLock('t18', { ttl: ms(5_000, 2_000) }, async (lease) => {
      await elapse(ms(500))
      await arena.supersede('t18')
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
      expect((lease.signal.reason as LeaseLostError).reason).toBe('superseded')
      await elapse(ms(250))
      returnedAt = performance.now()
    })
    await expect(run).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(performance.now() - returnedAt).toBeLessThan(limit(300))
  })

  it('a loss that shows only at the release is a loss', async () => {
    await using arena = await open()
    const locks = arena.client()
    const run = locks.withLock('late', async () => {
      await arena.supersede('late')
      return 7
    })
    await expect(run).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'superseded', result: 7 })
    const gone = locks.withLock('gone', async () => {
      await arena.remove('gone')
      return 8
    })
    await expect(gone).rejects.toMatchObject({ code: 'LEASE_LOST', reason: 'gone', result: 8 })
  })
})

it('T-17: a store that is down is neither "busy" nor "lost", and says why', async () => {
  await using arena = await redisArena()
  const locks = arena.client()
  await arena.server.kill()
  const error = await locks.acquire('down', { wait: ms(2_500) }).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(LeaseholdError)
  expect(error).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    cause: { message: expect.stringContaining('not connected in time') },
  })
})
