import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocker, type Lease, type Locker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { type RedisArena, redisArena } from '../support/arena.ts'
import { elapse, eventually, ms } from '../support/scale.ts'

const loss = (lease: Lease): Promise<unknown> =>
  new Promise((resolve) => {
    if (lease.signal.aborted) resolve(lease.signal.reason)
    lease.signal.addEventListener('abort', () => resolve(lease.signal.reason))
  })

const errorOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error)
const unavailable = expect.objectContaining({ code: 'STORE_UNAVAILABLE' })

/** The outcome of calls while the server refuses with this error code. */
async function isRefused(locks: Locker, word: string): Promise<void> {
  expect(await errorOf(locks.tryAcquire('other', { ttl: '3s' }))).toEqual(unavailable)
  // One command, so that no other is cut short by the end of the wait.
  expect(await errorOf(locks.acquire('other', { wait: '30s', budget: 1 }))).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    executed: 'no',
    cause: { message: expect.stringContaining(word) },
  })
}

describe('T-77: after a managed failover behind the same name, with the connection open to the old primary,', () => {
  interface Failover extends AsyncDisposable {
    readonly locks: Locker
    readonly held: Lease
  }

  /** Two servers change roles while a lease is held. */
  async function failover(reconnectOnError?: (error: Error) => 1 | 2 | false): Promise<Failover> {
    const primary = await startRedis()
    const replica = await startRedis({ replicaOf: primary })
    const client = new Redis({
      port: primary.port,
      retryStrategy: () => 20,
      ...(reconnectOnError && { reconnectOnError }),
    })
    client.on('error', () => undefined)
    const locks = createLocker({ store: ioredisStore(client), ttl: ms(6_000, 3_000) })
    const held = await locks.acquire('held')
    await eventually(async () => (await replica.command('EXISTS', 'lock:held')) === 1)
    // The server behind the name from now on, for new connections.
    client.options.port = replica.port
    await replica.command('REPLICAOF', 'NO', 'ONE')
    // Without an expiry no answer can say that the lock is gone, however busy the machine: only the holder's own time ends.
    await replica.command('PERSIST', 'lock:held')
    await primary.command('REPLICAOF', replica.host, replica.port)
    return {
      locks,
      held,
      async [Symbol.asyncDispose]() {
        await locks.close({ grace: 0 })
        client.disconnect()
        for (const server of [primary, replica] satisfies RedisServer[]) await server.stop()
      },
    }
  }

  it('a client with its defaults is told why nothing works', async () => {
    await using arena = await failover()
    const { locks, held } = arena
    await isRefused(locks, 'READONLY')
    expect(await errorOf(locks.acquire('free', { wait: ms(5_000, 1_000) }))).toEqual(unavailable)
    expect(await loss(held)).toMatchObject({ reason: 'unreachable' })
  })

  it.each([1, 2] as const)('a client with reconnectOnError %i goes on, and keeps what it holds', async (how) => {
    await using arena = await failover((error) => (error.message.includes('READONLY') ? how : false))
    const { locks, held } = arena
    const free = await locks.acquire('free', { wait: '15s' })
    expect(free.fence).toBeGreaterThan(held.fence as number)
    await held.renew({ ttl: '10s' })
    expect(held.signal.aborted).toBe(false)
    expect([await free.release(), await held.release()]).toEqual(['released', 'released'])
  })
})

describe('T-78: on a server that refuses commands for a while', () => {
  // Longer than the server's refusals in these tests.
  const ttl = ms(10_000, 6_000)

  it('because a foreign script runs, leases stay held, and waits end well', async () => {
    await using arena = await redisArena()
    const locks = arena.client({ ttl, wait: '30s' })
    const held = await locks.acquire('held')
    await arena.command('CONFIG', 'SET', 'lua-time-limit', 10)
    const stranger = new Redis(arena.server.port)
    const script = stranger.eval('while true do end', 0).catch(String)
    await eventually(async () => String(await errorOf(arena.command('PING'))).includes('BUSY'))
    const waiting = locks.acquire('free')
    await isRefused(locks, 'BUSY')
    await elapse(ms(2_500))
    await arena.command('SCRIPT', 'KILL')
    expect(await script).toContain('killed')
    stranger.disconnect()
    await goesOn(locks, held, waiting)
  })

  it('because it is full, leases are renewed and given back, and waits end well', async () => {
    await using arena = await redisArena(['--maxmemory-policy', 'noeviction'])
    const locks = arena.client({ ttl, wait: '30s' })
    const [held, given] = [await locks.acquire('held'), await locks.acquire('given')]
    await arena.command('CONFIG', 'SET', 'maxmemory', 1)
    const waiting = locks.acquire('free')
    await held.renew({ ttl })
    expect(await given.release()).toBe('released')
    expect(await arena.command('EXISTS', `${arena.prefix}given`)).toBe(0)
    await isRefused(locks, 'OOM')
    await arena.command('CONFIG', 'SET', 'maxmemory', 0)
    await goesOn(locks, held, waiting)
  })

  it('because it cannot write its snapshots, leases stay held, and waits end well', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'leasehold-snapshots-'))
    await using arena = await redisArena(['--save', '3600 1', '--dir', folder])
    const locks = arena.client({ ttl, wait: '30s' })
    const held = await locks.acquire('held')
    await failSnapshot(arena, folder)
    const waiting = locks.acquire('free')
    await isRefused(locks, 'MISCONF')
    expect(await errorOf(held.renew({ ttl }))).toEqual(unavailable)
    await arena.command('CONFIG', 'SET', 'save', '')
    await goesOn(locks, held, waiting)
  })

  async function failSnapshot(arena: RedisArena, folder: string): Promise<void> {
    await rm(folder, { recursive: true })
    await arena.command('BGSAVE')
    await eventually(async () =>
      String(await arena.command('INFO', 'persistence')).includes('rdb_last_bgsave_status:err'),
    )
  }

  /** Once the refusals are over, everything is as it was. */
  async function goesOn(locks: Locker, held: Lease, waiting: Promise<Lease>): Promise<void> {
    expect(await (await waiting).release()).toBe('released')
    await held.renew({ ttl })
    expect(held.signal.aborted).toBe(false)
    expect(await held.release()).toBe('released')
    expect(await locks.withLock('other', () => 'done')).toBe('done')
  }
})
