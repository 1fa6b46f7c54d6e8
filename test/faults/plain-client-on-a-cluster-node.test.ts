import { createLocker } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { guardedSet } from '@leasehold/core/fencing'
import { ioredisBackend, ioredisStore, ioredisTransport } from '@leasehold/ioredis'
import { callUntil } from '@leasehold/testkit'
import { type RedisCluster, startRedisCluster } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { elapse, ms } from '../support/scale.ts'

// A managed Redis with one shard: it has slots, owns all of them, and its clients know nothing of slots.

const { signal } = new AbortController()
const ends: (() => unknown)[] = []
let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startRedisCluster({ nodes: 1 })
})
afterAll(async () => {
  for (const end of ends.reverse()) await end()
  await cluster.stop()
})

function client(): Redis {
  const redis = new Redis(cluster.nodes[0]?.port as number)
  ends.push(() => redis.disconnect())
  return redis
}

async function overHttp(prefix: string): Promise<LeaseStore> {
  const token = 'plain-client-token-0123456789abcdef'
  const redis = ioredisGateway(`redis://127.0.0.1:${cluster.nodes[0]?.port}`, { unansweredMs: 5_000 })
  const http = await listen(createGateway({ redis, tokens: [token] }), { host: '127.0.0.1', port: 0 })
  ends.push(redis.close, () => http.close(0))
  return fetchStore({ url: http.url, token, prefix })
}

const stores: readonly (readonly [string, (prefix: string) => LeaseStore | Promise<LeaseStore>])[] = [
  ['over TCP', (prefix) => ioredisStore(client(), { prefix })],
  ['over HTTP', overHttp],
]

describe.each(stores)('a plain client %s on a node with all slots', (name, open) => {
  const prefix = `${name.slice(-4).trim()}:`

  it('takes, renews and gives back leases of several slots in one call', async () => {
    const store = await open(prefix)
    const acquisitionId = (index: number): string => String(index).repeat(32)
    const keys = ['a', 'b', 'c{1}', 'd{1}']
    const granted = await store.acquire(
      keys.map((key, index) => ({ key, acquisitionId: acquisitionId(index), ttlMs: 60_000, fences: 1 })),
      callUntil(signal),
    )
    expect(granted.map(({ type }) => type)).toEqual(keys.map(() => 'granted'))
    const held = keys.map((key, index) => ({ key, token: (granted[index] as { token: string }).token, ttlMs: 60_000 }))
    // The first call has shown what kind of server it is; the others rely on that.
    for (let round = 0; round < 2; round++) {
      expect(await store.renew(held, callUntil(signal))).toEqual(keys.map(() => ({ type: 'renewed' })))
    }
    expect((await store.release(held, callUntil(signal))).map(({ type }) => type)).toEqual(keys.map(() => 'released'))
  })

  it('keeps both of two leases of different slots, without an unanswered renewal', async () => {
    const events: string[] = []
    const locks = createLocker({
      store: await open(prefix),
      ttl: ms(5_000, 3_000),
      onEvent: ({ type }) => events.push(type),
    })
    const leases = [await locks.acquire('one'), await locks.acquire('two')]
    await elapse(ms(5_000, 3_000) + 500)
    expect(leases.map((lease) => lease.signal.aborted)).toEqual([false, false])
    expect(events).toEqual(['acquired', 'acquired'])
    for (const lease of leases) expect(await lease.release()).toBe('released')
    await locks.close()
  })
})

it('a guarded write needs one slot, and works as on any server', async () => {
  const transport = ioredisTransport(client())
  expect(await guardedSet(transport, 'stock:42', '7', { fence: 2 })).toEqual({ stored: true })
  expect(await guardedSet(transport, 'stock:42', '8', { fence: 1 })).toEqual({ stored: false, highest: 2 })
})

it('passes no lock on once it has learned that nobody counts the subscribers of other nodes', async () => {
  const locks = createLocker({ ...ioredisBackend(client()), wait: '30s' })
  ends.push(() => locks.close({ grace: 0 }))
  const scriptCalls = async (): Promise<number> => {
    const stats = String(await cluster.nodes[0]?.command('INFO', 'commandstats'))
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1])
  }
  // Two slots in one command, which the node refuses.
  await Promise.all(['slot-1', 'slot-2'].map((key) => locks.withLock(key, () => undefined)))
  const before = await scriptCalls()
  await Promise.all(Array.from({ length: 17 * 10 }, () => locks.withLock('handed-on', () => elapse(1))))
  // Between ten runs of hand-offs, a release and an acquire each.
  expect((await scriptCalls()) - before).toBe(1 + 2 * 9 + 1)
})
