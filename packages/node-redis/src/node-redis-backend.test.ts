import { createLocker } from '@leasehold/core'
import { ManualClock } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import * as redis6 from 'redis'
import * as redis4 from 'redis-4'
import * as redis5 from 'redis-5'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { close, newest, type TestClient } from '../test/clients.ts'
import { nodeRedisBackend } from './node-redis-backend.ts'
import { nodeRedisNotifier } from './node-redis-notifier.ts'
import { nodeRedisStore } from './node-redis-store.ts'

let server: RedisServer
let connected: TestClient
beforeAll(async () => {
  server = await startRedis()
  connected = newest.create({ socket: { port: server.port } })
  connected.on('error', () => undefined)
  await connected.connect()
})
afterAll(async () => {
  await close(connected)
  await server.stop()
})

const refused = (option: string): unknown => expect.objectContaining({ code: 'INVALID_OPTION', option })

describe('nodeRedisBackend', () => {
  it('takes the clients of all versions and topologies as they are, and does no I/O', () => {
    const sentinel = { name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }
    const cluster = { rootNodes: [{ socket: { port: 1 } }] }
    const backends = [
      nodeRedisBackend(redis6.createClient()),
      nodeRedisBackend(redis6.createClient({ RESP: 2 })),
      nodeRedisBackend(redis5.createClient()),
      nodeRedisBackend(redis5.createClient({ RESP: 3 })),
      nodeRedisBackend(redis4.createClient()),
      nodeRedisBackend(redis6.createCluster(cluster)),
      nodeRedisBackend(redis5.createCluster(cluster)),
      nodeRedisBackend(redis4.createCluster(cluster)),
      nodeRedisBackend(redis6.createSentinel(sentinel)),
      nodeRedisBackend(redis5.createSentinel(sentinel)),
    ]
    for (const backend of backends) createLocker(backend)
  })

  it('gives a locker its store and notifier under one prefix, and a name that whoever reads the lock sees', async () => {
    const locks = createLocker({ ...nodeRedisBackend(connected, { prefix: 'shop:' }), recheck: '1h' })
    const held = await locks.acquire('k')
    expect(await locks.inspect('k')).toMatchObject({ holder: expect.stringMatching(`-${process.pid}$`) })
    expect(await server.command('GET', 'shop:k')).toContain(`-${process.pid}.`)
    const other = createLocker({ ...nodeRedisBackend(connected, { prefix: 'shop:', name: 'orders-7' }), recheck: '1h' })
    // Only the notifier can tell it within its time.
    const next = other.acquire('k', { wait: '20s' })
    await expect.poll(() => server.command('PUBSUB', 'NUMSUB', 'shop:release:k')).toEqual(['shop:release:k', 1])
    await held.release()
    await next
    expect(await locks.inspect('k')).toMatchObject({ holder: 'orders-7' })
    await Promise.all([locks.close({ grace: 0 }), other.close({ grace: 0 })])
  })

  it('hands each option to its part', async () => {
    const { store, notifier } = nodeRedisBackend(connected, { prefix: 'p:', fenceMemory: '1m', mode: 'pattern' })
    expect([store.prefix, notifier.prefix]).toEqual(['p:', 'p:'])
    await notifier.subscribe('k', '-').ready
    expect(await server.command('PUBSUB', 'NUMPAT')).toBe(1)
    await notifier.close()
    const locks = createLocker({ store })
    await (await locks.acquire('k', { ttl: '1s' })).release()
    const memoryMs = Number(await server.command('PTTL', '{p:k}:fence'))
    expect(memoryMs).toBeGreaterThan(50_000)
    expect(memoryMs).toBeLessThanOrEqual(60_000)
  })

  it('takes undefined for every option, as if it were left out', () => {
    const options = { prefix: undefined, fenceMemory: undefined, mode: undefined, name: undefined, clock: undefined }
    const { store, notifier, name } = nodeRedisBackend(connected, options)
    expect([store.prefix, notifier.prefix]).toEqual(['lock:', 'lock:'])
    expect(name).toBe(nodeRedisBackend(connected).name)
    nodeRedisNotifier(connected, { clock: new ManualClock() })
  })

  it.each([
    ['prefix', ''],
    ['fenceMemory', 'soon'],
    ['mode', 'patern'],
    ['keyPrefix', 'lock:'],
  ])('refuses the option %s: %j by name', (option, value) => {
    expect(() => nodeRedisBackend(connected, { [option]: value } as never)).toThrow(refused(option))
  })

  it('refuses options that its parts do not have, on these, too', () => {
    expect(() => nodeRedisStore(connected, { mode: 'pattern' } as never)).toThrow(refused('mode'))
    expect(() => nodeRedisNotifier(connected, { fenceMemory: '1h' } as never)).toThrow(refused('fenceMemory'))
    expect(() => nodeRedisBackend(connected, 'lock:' as never)).toThrow(refused('options'))
    expect(() => nodeRedisNotifier({} as never)).toThrow(refused('client'))
  })
})
