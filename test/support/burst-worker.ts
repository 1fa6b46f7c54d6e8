/*
 * A separate process that has just started: acquires many locks in one turn, and reports how each call ended.
 * Arguments: the port of a Redis, how many, their ttl in milliseconds, for how long it is then busy itself, and when:
 * in the same `turn`, or `later`, with answers in flight.
 */
import { createLocker } from '@leasehold/core'
import { ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

/** How a burst ended. */
export interface Burst {
  readonly granted: number
  /** The errors of the other calls. */
  readonly failures: readonly string[]
  /** The shortest and the longest remaining validity of the leases at their grants, in milliseconds. */
  readonly leastLeftMs: number
  readonly mostLeftMs: number
  /** Commands used by all calls together. */
  readonly commands: number
  readonly tookMs: number
}

const [port, count, ttl, busyMs, when] = process.argv.slice(2)
const redis = quiet(new Redis(Number(port)))
const locks = createLocker({ store: ioredisStore(redis), ttl: Number(ttl), renew: false })
const began = performance.now()
const left: number[] = []
const failures: string[] = []
let commands = 0
const calls = Array.from({ length: Number(count) }, (_, index) =>
  locks.acquire(`burst-${index}`).then(
    (lease) => {
      left.push(lease.remaining())
      commands += lease.commands
    },
    (error: unknown) => failures.push(String(error)),
  ),
)
const beBusy = (): void => {
  const until = performance.now() + Number(busyMs)
  while (performance.now() < until);
}
if (when === 'turn') beBusy()
else redis.once('ready', () => setImmediate(beBusy))
await Promise.all(calls)
const burst: Burst = {
  granted: left.length,
  failures: [...new Set(failures)],
  leastLeftMs: Math.min(...left),
  mostLeftMs: Math.max(...left),
  commands,
  tookMs: performance.now() - began,
}
process.send?.(burst)
redis.disconnect()
process.disconnect?.()
