import { startRedis, startRedisCluster } from '@leasehold/testkit/redis'
import { afterAll } from 'vitest'
import { soak, tested } from '../test/clients.ts'
import { clusters } from '../test/clusters.ts'
import { conformance } from '../test/conformance.ts'

const redis = await startRedis()
const cluster = soak ? await startRedisCluster() : undefined
afterAll(async () => {
  await redis.stop()
  await cluster?.stop()
})

for (const { name, create } of tested) {
  conformance(name, [redis], (way) => create({ socket: { ...way, reconnectStrategy: 20 } }))
}
// It is told of one node, and learns of the others.
for (const { name, create } of cluster ? clusters : []) {
  conformance(`${name}, cluster`, cluster?.nodes ?? [], (socket) => create({ rootNodes: [{ socket }] }))
}
