import { createLocker, type Locker, poll } from '@leasehold/core'
import { ioredisBackend, ioredisStore } from '@leasehold/ioredis'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { elapse } from '../support/scale.ts'

/*
 * A process whose own waiters get the lock one after another. Each run of hand-offs starts with the release that ended
 * the previous one, which frees the lock for nobody else.
 */

let redis: RedisServer
const ends: (() => unknown)[] = []

beforeAll(async () => {
  redis = await startRedis()
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  await redis.stop()
})

function client(): Redis {
  const connection = new Redis(redis.port)
  ends.push(() => connection.disconnect())
  return connection
}

function locker(): Locker {
  const locks = createLocker({ ...ioredisBackend(client()), wait: '30s' })
  ends.push(() => locks.close({ grace: 0 }))
  return locks
}

async function scriptCalls(): Promise<number> {
  const stats = String(await redis.command('INFO', 'commandstats'))
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

it.each([
  ['seventeen leases', () => elapse(1), 9],
  // On a busy machine some of these runs are not brief.
  ['up to sixty-five leases that are given back at once', () => undefined, 3],
])('takes one command for each %s, where release and acquire would take two', async (_, work, least) => {
  const locks = locker()
  await locks.withLock('warm', () => undefined)
  const before = await scriptCalls()
  await Promise.all(Array.from({ length: 17 * 10 }, () => locks.withLock('counted', work)))
  const runs = (await scriptCalls()) - before - 2
  expect(runs).toBeLessThanOrEqual(9)
  expect(runs).toBeGreaterThanOrEqual(least)
})

it('lets in a poller of another process, and one over HTTP without a bridge', async () => {
  const locks = locker()
  let busy = true
  let turns = 0
  const loop = async (): Promise<void> => {
    while (busy) await locks.withLock('busy', () => void turns++)
  }
  const saturated = Promise.all(Array.from({ length: 32 }, loop))
  ends.push(() => {
    busy = false
    return saturated
  })
  const atWork = async (until: number): Promise<void> => {
    while (turns < until) await new Promise((resolve) => setImmediate(resolve))
  }
  const token = 'passed-on-token-0123456789abcdef'
  const gateway = ioredisGateway(`redis://127.0.0.1:${redis.port}`, { unansweredMs: 5_000 })
  const http = await listen(createGateway({ redis: gateway, tokens: [token] }), { host: '127.0.0.1', port: 0 })
  ends.push(gateway.close, () => http.close(0))

  for (const store of [ioredisStore(client()), fetchStore({ url: http.url, token })]) {
    const other = createLocker({ store, strategy: poll({ every: '5ms' }) })
    await atWork(turns + 1_000)
    const lease = await other.acquire('busy', { wait: '15s' })
    expect(await lease.release()).toBe('released')
    await other.close()
  }
  busy = false
  await saturated
}, 40_000)
