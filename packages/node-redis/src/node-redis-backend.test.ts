import { createLocker } from '@leasehold/core'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import * as redis6 from 'redis'
import * as redis4 from 'redis-4'
import * as redis5 from 'redis-5'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { backendClaims } from '../../../test/support/backend-claims.ts'
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

  backendClaims<TestClient>({
    server: () => server,
    client: () => connected,
    backend: nodeRedisBackend,
    store: nodeRedisStore,
    notifier: nodeRedisNotifier,
  })
})
