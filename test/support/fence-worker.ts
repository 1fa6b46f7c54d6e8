/*
 * A separate process: takes one lock a number of times, appends each fence to a log while it holds the lock, and
 * reports it. Arguments: the Redis URL, the prefix, the number of rounds.
 */
import { createLocker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

const [url = '', prefix = '', count = ''] = process.argv.slice(2)
const redis = quiet(new Redis(url))
const locks = createLocker({ store: ioredisStore(redis, { prefix }) })
for (let round = 0; round < Number(count); round++) {
  await locks.withLock('shared', { wait: '20s' }, async (lease) => {
    await redis.rpush(`${prefix}log`, String(lease.fence))
    process.send?.(lease.fence)
  })
}
await locks.close()
redis.disconnect()
process.disconnect?.()
