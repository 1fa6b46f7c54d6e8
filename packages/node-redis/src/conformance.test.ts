import { startRedis, startRedisCluster, startRedisSentinel } from '@leasehold/testkit/redis'
import * as redis6 from 'redis'
import * as redis5 from 'redis-5'
import { afterAll } from 'vitest'
import { soak, tested } from '../test/clients.ts'
import { clusters } from '../test/clusters.ts'
import { conformance } from '../test/conformance.ts'

const redis = await startRedis()
// The suites keep a server busy for longer than others tolerate by default. No server may be failed over meanwhile.
const [cluster, sentinel] = soak
  ? await Promise.all([
      startRedisCluster({ args: ['--cluster-node-timeout', '60000'] }),
      startRedisSentinel({ downAfterMs: 60_000 }),
    ])
  : []
afterAll(async () => {
  await redis.stop()
  await cluster?.stop()
  await sentinel?.stop()
})

for (const { name, create } of tested) {
  conformance(name, [redis], (way) => create({ socket: { ...way, reconnectStrategy: 20 } }))
}
// Each client is given one node, and learns of the others.
for (const { name, create } of cluster ? clusters : []) {
  conformance(`${name}, cluster`, cluster?.nodes ?? [], (socket) => create({ rootNodes: [{ socket }] }))
}
if (sentinel) {
  const [primary] = sentinel.nodes
  const sentinelRootNodes = sentinel.sentinels.map(({ host, port }) => ({ host, port }))
  const options = { name: sentinel.name, sentinelRootNodes }
  conformance('node-redis 6, Sentinel', [primary as typeof redis], () => redis6.createSentinel(options), 'by sentinels')
  conformance('node-redis 5, Sentinel', [primary as typeof redis], () => redis5.createSentinel(options), 'by sentinels')
}
