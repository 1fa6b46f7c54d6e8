/*
 * A separate process whose timer fires a job: it runs the job if it gets the lock, and exits right after. Arguments:
 * the port of a Redis, how late its timer is, the minimum time for which the lock is held; 0 for none. Prints `ready`,
 * waits for a line on its input, and then prints whether it ran the job.
 */
import { once } from 'node:events'
import { createLocker } from '@leasehold/core'
import { holdAtLeast } from '@leasehold/core/schedule'
import { ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

const [port, lateMs, atLeastMs] = process.argv.slice(2).map(Number)
const redis = quiet(new Redis({ port: port ?? 0 }))
const locks = createLocker({ store: ioredisStore(redis), name: `job-${process.pid}` })
const { tryAcquire } = atLeastMs ? holdAtLeast(locks, atLeastMs) : locks
// Connected, and the server knows the scripts of a plain lock.
await (await locks.acquire(`warm-${process.pid}`)).release()

console.log('ready')
await once(process.stdin, 'data')
await new Promise((resolve) => setTimeout(resolve, lateMs))
const turn = await tryAcquire('nightly')
if (turn) {
  await redis.rpush('runs', `${process.pid} begins`)
  await new Promise((resolve) => setTimeout(resolve, 5))
  await redis.rpush('runs', `${process.pid} ends`)
  await turn.release()
}
console.log(turn ? 'ran' : 'did not run')
process.exit(0)
