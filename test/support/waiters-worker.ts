/*
 * A separate process with many waiters for one lock. Reports when all of them wait, and when all have been served.
 * Arguments: the port of a Redis, the prefix, how many waiters.
 */
import { createLocker } from '@leasehold/core'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

const [port, prefix = '', count] = process.argv.slice(2)
const redis = quiet(new Redis(Number(port)))
const locks = createLocker({ store: ioredisStore(redis, { prefix }), notifier: ioredisNotifier(redis, { prefix }) })
let served = 0
const work = (): Promise<void> =>
  locks.withLock('t14', { wait: '60s' }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    served++
  })
const all = Promise.all(Array.from({ length: Number(count) }, work))
await locks.isLocked('warm')
setTimeout(() => process.send?.('waiting'), 300)
await all
process.send?.({ served })
await locks.close()
redis.disconnect()
process.disconnect?.()
