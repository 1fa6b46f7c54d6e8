/*
 * A separate process: walks a list of items, tries the lock of each without waiting, and logs which it was granted.
 * Keeps its leases until it is told to end. Arguments: the Redis URL, the prefix, the number of items, its name.
 */
import { once } from 'node:events'
import { createLocker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

const [url = '', prefix = '', items = '', name = ''] = process.argv.slice(2)
const redis = quiet(new Redis(url))
const locks = createLocker({ store: ioredisStore(redis, { prefix }), name })
await locks.isLocked('warm-up')
process.send?.('ready')
await once(process, 'message')
for (let item = 0; item < Number(items); item++) {
  const lease = await locks.tryAcquire(`item-${item}`)
  if (lease) await redis.rpush(`${prefix}log`, `item-${item} ${name} ${lease.fence}`)
}
const ended = once(process, 'message')
process.send?.('done')
await ended
await locks.close({ grace: 0 })
redis.disconnect()
process.disconnect?.()
