/*
 * A separate process that takes, renews and releases locks until it is killed. Arguments: the prefix, then the port of
 * one Redis, or the ports of a cluster.
 */
import { createLocker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { Cluster, Redis } from 'ioredis'
import { quiet } from './quiet.ts'

const [prefix = '', ...ports] = process.argv.slice(2)
const nodes = ports.map((port) => ({ host: '127.0.0.1', port: Number(port) }))
const client = nodes.length > 1 ? quiet(new Cluster(nodes)) : quiet(new Redis({ ...nodes[0] }))
const locks = createLocker({ store: ioredisStore(client, { prefix, fenceMemory: '2s' }), wait: '2s' })
let rounds = 0
let told = false
const work = async (): Promise<void> => {
  for (;;) {
    const key = `item-${rounds++ % 12}`
    try {
      await locks.withLock(key, { ttl: 600 }, (lease) => lease.renew({ ttl: 800 }))
    } catch {
      // Busy or cut off: the next item.
    }
    if (!told) process.send?.('working')
    told = true
  }
}
await Promise.all([work(), work(), work()])
