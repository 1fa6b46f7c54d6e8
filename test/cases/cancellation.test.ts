import { LeaseholdError, type LeaseLostError } from '@leasehold/core'
import { startTcpProxy } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { arenas, redisArena } from '../support/arena.ts'
import { elapse, eventually, ms } from '../support/scale.ts'

it('T-16: aborting an acquire in flight frees what it may have taken', async () => {
  await using arena = await redisArena()
  await using proxy = await startTcpProxy({ port: arena.server.port })
  const a = arena.client({ store: arena.store(proxy.port) })
  await a.isLocked('warm')
  const renewals = async (): Promise<number> => Number(await arena.command('PTTL', `${arena.prefix}t16`))

  proxy.delay(ms(800), 'toClient')
  const startedAt = performance.now()
  const reason = new Error('the caller left')
  await expect(a.acquire('t16', { ttl: '10s', signal: abortAfter(ms(200), reason) })).rejects.toBe(reason)
  const rejectedMs = performance.now() - startedAt
  expect(rejectedMs).toBeLessThan(ms(200) + 100)

  const b = await arena.client().acquire('t16', { wait: '5s' })
  expect(performance.now() - startedAt).toBeLessThan(ms(1_500) + 250)
  await b.release()
  await elapse(ms(1_000))
  expect(await renewals()).toBe(-2)
})

function abortAfter(delayMs: number, reason: Error): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(reason), delayMs)
  return controller.signal
}

describe.each(arenas)('endings on %s', (_, open) => {
  it('T-17: busy, lost midway, and the user’s own error are told apart', async () => {
    await using arena = await open()
    const a = arena.client()
    const b = arena.client()

    const holder = await a.acquire('busy')
    await expect(b.acquire('busy', { wait: ms(500) })).rejects.toMatchObject({ code: 'ACQUIRE_TIMEOUT', key: 'busy' })
    expect(await b.tryAcquire('busy')).toBeNull()
    await holder.release()

    const stolen = b.withLock(
      'stolen',
      async (lease) => {
        await arena.steal('stolen')
        await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
        return 'done anyway'
      },
      { ttl: ms(3_000) },
    )
    await expect(stolen).rejects.toMatchObject({ code: 'LEASE_LOST', cause: 'superseded', result: 'done anyway' })

    const own = new TypeError('mine')
    await expect(
      b.withLock('own', async () => {
        throw own
      }),
    ).rejects.toBe(own)
    expect(await b.isLocked('own')).toBe(false)

    const both = b.withLock('both', async () => {
      await arena.steal('both')
      throw own
    })
    await expect(both).rejects.toBe(own)
  })

  it('T-18: a scoped run settles promptly after its lease is known to be lost', async () => {
    await using arena = await open()
    let returnedAt = 0
    const run = arena.client().withLock(
      't18',
      async (lease) => {
        await elapse(ms(500))
        await arena.steal('t18')
        await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
        expect((lease.signal.reason as LeaseLostError).cause).toBe('superseded')
        await elapse(ms(250))
        returnedAt = performance.now()
      },
      { ttl: ms(5_000) },
    )
    await expect(run).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(performance.now() - returnedAt).toBeLessThan(300)
  })

  it('a loss that shows only at the release is a loss', async () => {
    await using arena = await open()
    const locks = arena.client()
    const run = locks.withLock('late', async () => {
      await arena.steal('late')
      return 7
    })
    await expect(run).rejects.toMatchObject({ code: 'LEASE_LOST', cause: 'superseded', result: 7 })
    const gone = locks.withLock('gone', async () => {
      await arena.remove('gone')
      return 8
    })
    await expect(gone).rejects.toMatchObject({ code: 'LEASE_LOST', cause: 'gone', result: 8 })
  })
})

it('T-17: a store that is down is neither "busy" nor "lost", and says why', async () => {
  await using arena = await redisArena()
  const locks = arena.client()
  await arena.server.kill()
  const error = await locks.acquire('down', { wait: ms(2_500) }).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(LeaseholdError)
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await eventually(() => true)
})
