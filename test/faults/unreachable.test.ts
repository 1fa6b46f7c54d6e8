import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { createLocker, type Locker } from '@leasehold/core'
import { redisStore } from '@leasehold/core/redis'
import { ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { startTcpProxy } from '@leasehold/testkit'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { redisArena } from '../support/arena.ts'
import { heapBytes } from '../support/heap.ts'
import { quiet } from '../support/quiet.ts'
import { limit, ms, rounds } from '../support/scale.ts'

async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

async function blackHole(): Promise<{ port: number; close: () => void }> {
  const server = createServer(() => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return { port: typeof address === 'object' && address ? address.port : 0, close: () => server.close() }
}

function lockerAt(port: number): { locks: Locker; redis: Redis } {
  const redis = quiet(new Redis({ host: '127.0.0.1', port }))
  return { locks: createLocker({ store: ioredisStore(redis) }), redis }
}

/** Every call settles within its limit plus half a second, with an error that says "unreachable". */
async function settlesInTime(locks: Locker): Promise<void> {
  const limitMs = ms(2_000)
  const timed = async (call: Promise<unknown>, withinMs: number): Promise<void> => {
    const startedAt = performance.now()
    await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(performance.now() - startedAt).toBeLessThan(withinMs + limit(500))
  }
  const commandDeadlineMs = 2_000
  await Promise.all([
    timed(locks.acquire('k', { wait: limitMs }), limitMs),
    timed(locks.tryAcquire('k'), commandDeadlineMs),
    timed(locks.tryAcquire('k', { ttl: 300 }), 100),
    timed(locks.inspect('k'), commandDeadlineMs),
    timed(locks.isLocked('k'), commandDeadlineMs),
    timed(locks.revoke('k'), commandDeadlineMs),
    timed(
      locks.withLock('k', { wait: limitMs }, () => 1),
      limitMs,
    ),
  ])
}

/** The codes along a chain of causes. */
function codesIn(error: unknown): readonly unknown[] {
  const codes: unknown[] = []
  for (let each = error; each instanceof Error; each = each.cause) codes.push((each as { code?: unknown }).code)
  return codes
}

describe('T-37: an unreachable store fails within the wait limit', () => {
  it('at a closed port', async () => {
    const { locks, redis } = lockerAt(await closedPort())
    await settlesInTime(locks)
    await locks.close()
    redis.disconnect()
  })

  it('at a closed port, with what the connection met with, and that nothing was sent', async () => {
    const { locks, redis } = lockerAt(await closedPort())
    const calls = [
      locks.tryAcquire('a'),
      locks.isLocked('b'),
      locks.acquire('c', { wait: '900ms' }),
      locks.acquire('d', { wait: '3s' }),
    ]
    for (const error of await Promise.all(calls.map((call) => call.catch((e: unknown) => e)))) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'no' })
      expect(codesIn(error)).toContain('ECONNREFUSED')
    }
    await locks.close()
    redis.disconnect()
  })

  it('in a black hole', async () => {
    const hole = await blackHole()
    const { locks, redis } = lockerAt(hole.port)
    await settlesInTime(locks)
    await locks.close()
    redis.disconnect()
    hole.close()
  })

  it('when it goes silent in the middle: renewals, releases and new calls', async () => {
    await using arena = await redisArena()
    await using proxy = await startTcpProxy({ port: arena.server.port })
    const locks = arena.client({ store: arena.store(proxy.port) })
    const lease = await locks.acquire('held', { ttl: 1_500 })
    proxy.blackHole()
    await settlesInTime(locks)
    if (!lease.signal.aborted) await new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', reason: 'unreachable' })
    const startedAt = performance.now()
    expect(await lease.release()).toBe('unknown')
    expect(performance.now() - startedAt).toBeLessThan(limit(1_000))
    proxy.cut()
    proxy.restore()
  })

  it('memory does not grow with the number of calls', async () => {
    const { locks, redis } = lockerAt(await closedPort())
    const batch = async (calls: number): Promise<void> => {
      await Promise.all(Array.from({ length: calls }, () => locks.tryAcquire('k', { ttl: 60 }).catch(() => null)))
    }
    await batch(200)
    const before = await heapBytes()
    for (let round = 0; round < rounds(10, 5); round++) await batch(200)
    const grownKb = ((await heapBytes()) - before) / 1024
    console.log(`heap after ${200 * rounds(10, 5)} calls at a closed port: ${grownKb.toFixed(0)} kB more`)
    expect(redis.listenerCount('ready')).toBeLessThanOrEqual(1)
    expect(grownKb).toBeLessThan(512)
    await locks.close()
    redis.disconnect()
  })
})

describe.concurrent('a server that never answers is asked at most twice a second', () => {
  const waitMs = 6_000

  async function expectFewRequests(locks: Locker, requests: () => number): Promise<void> {
    const error = await locks.acquire('k', { wait: waitMs, ttl: '1m' }).catch((e: unknown) => e)
    const sent = requests()
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', executed: 'unknown' })
    expect(sent).toBeGreaterThan(1)
    expect(sent).toBeLessThanOrEqual((2 * waitMs) / 1_000)
  }

  it('over TCP', async () => {
    await using arena = await redisArena()
    await using proxy = await startTcpProxy({ port: arena.server.port })
    const redis = quiet(new Redis({ port: proxy.port }))
    await redis.ping()
    const transport = ioredisTransport(redis)
    let requests = 0
    const run: typeof transport.run = (calls, signal) => {
      requests += calls.length
      return transport.run(calls, signal)
    }
    proxy.blackHole()
    await expectFewRequests(createLocker({ store: redisStore({ ...transport, run }) }), () => requests)
    redis.disconnect()
  })

  it('over HTTP', async () => {
    const server = createHttpServer(() => undefined)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    let requests = 0
    // Counted here, because requests that are given up at once may never arrive.
    const counted: typeof fetch = (...request) => {
      requests++
      return fetch(...request)
    }
    const store = fetchStore({ url: `http://127.0.0.1:${port}`, token: 'any', fetch: counted })
    await expectFewRequests(createLocker({ store }), () => requests)
    server.closeAllConnections()
    server.close()
  })
})
