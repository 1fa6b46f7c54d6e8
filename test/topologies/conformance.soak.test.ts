import { waitForReplicas } from '@leasehold/core/redis'
import { storeConformance } from '@leasehold/testkit/conformance'
import {
  type RedisCluster,
  type RedisSentinel,
  redisStoreAccess,
  startRedisCluster,
  startRedisSentinel,
} from '@leasehold/testkit/redis'
import { afterAll } from 'vitest'
import { type Connection, clients, type TopologyClient } from './clients.ts'

/* The whole contract of a store on either topology, and where each grant and renewal waits for a replica. */

// On a busy machine a server may not answer for a while. None should be replaced meanwhile.
const sentinel: RedisSentinel = await startRedisSentinel({ downAfterMs: 60_000 })
const cluster: RedisCluster = await startRedisCluster({ replicas: 1, args: ['--cluster-node-timeout', '60000'] })
const primary = await sentinel.primary()
for (const node of [primary, ...cluster.nodes]) await node.replicatedTo(1)
afterAll(() => Promise.all([sentinel.stop(), cluster.stop()]))

const prefix = 'conformance:'
const sideBySide = { concurrent: true }
const fenceMemoryMs = 3_000
const options = { prefix, fenceMemory: fenceMemoryMs }

const waiting = (connection: Connection) => {
  const { store } = waitForReplicas(connection, { replicas: 1, timeout: '500ms' })
  return { store, fenceMemoryMs, close: async () => connection.close() }
}

function onSentinels({ name, toSentinel }: TopologyClient): void {
  if (!toSentinel) return
  const open = async () => ({
    ...redisStoreAccess([primary], prefix),
    ...waiting(toSentinel(sentinel.sentinels, sentinel.name, options)),
  })
  storeConformance(`${name}, under Sentinels, with WAIT`, open, sideBySide)
}

function onACluster({ name, toCluster }: TopologyClient): void {
  const open = async () => ({
    ...redisStoreAccess(cluster.nodes, prefix),
    ...waiting(toCluster(cluster.nodes, options)),
  })
  storeConformance(`${name}, on a cluster, with WAIT`, open, sideBySide)
}

for (const client of clients) {
  onSentinels(client)
  onACluster(client)
}
