/*
 * What a server does with a lock, over the built packages: holds it beyond its ttl while another call waits, hands it on,
 * and loses it. Prints what it saw. Argument: the Redis URL.
 */
import { createLocker, LeaseLostError } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'
import { ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'

const redis = new Redis(process.argv[2] ?? '')
const locks = createLocker({ store: ioredisStore(redis), name: 'server' })
const others = createLocker({ store: ioredisStore(redis) })

const first = await locks.acquire('story', { ttl: 600 })
const refused = await others.tryAcquire('story')
const next = locks.acquire('story', { wait: '10s' })
await new Promise((resolve) => setTimeout(resolve, 900))
first.assertValid()
const released = await first.release()
const second = await next
const seen = await others.inspect('story')

await others.revoke('story')
const lost = await second.renew({ ttl: '10s' }).catch((error: unknown) => error)
const embedded = await createLocker({ store: memoryStore() }).withLock('story', (lease) => lease.remaining() > 0)
await Promise.all([locks.close(), others.close()])
redis.disconnect()

console.log(
  JSON.stringify({
    node: process.versions.node.split('.')[0],
    refused,
    released,
    risen: Number(second.fence) > Number(first.fence),
    holder: seen.held && seen.holder,
    lost: lost instanceof LeaseLostError && lost.cause,
    disposable: Symbol.asyncDispose in second,
    embedded,
  }),
)
