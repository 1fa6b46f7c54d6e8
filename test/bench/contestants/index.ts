import type { Client, Contestant } from './contestant.ts'
import {
  leasehold,
  leaseholdAlone,
  leaseholdFetch,
  leaseholdFifo,
  leaseholdMemory,
  leaseholdNodeRedis,
  leaseholdPoll,
  leaseholdSpin,
  leaseholdUpstash,
} from './leasehold.ts'
import {
  batchedFetch,
  batchedIoredis,
  batchedNodeRedis,
  scriptsFetch,
  scriptsIoredis,
  scriptsNodeRedis,
} from './our-scripts.ts'
import { promiseQueue } from './promise-queue.ts'
import { rawFetch, rawUpstash } from './raw-http.ts'
import { rawAutoPipelining, rawFenced, rawIoredis, rawSpin } from './raw-ioredis.ts'
import { rawMap } from './raw-map.ts'
import { rawNodeRedis, rawNodeRedisUntimed } from './raw-node-redis.ts'
import { redisSemaphore, redisSemaphore50 } from './redis-semaphore.ts'
import { redlock, redlock50 } from './redlock.ts'
import { redlockUniversal, redlockUniversal50, redlockUniversalLean } from './redlock-universal.ts'
import { leaseholdSemaphore, rawPermits, redisSemaphorePermits, redisSemaphorePermits50 } from './semaphores.ts'
import { simpleRedisMutex } from './simple-redis-mutex.ts'
import { upstashLock, upstashLock50 } from './upstash-lock.ts'
import { verrou, verrou50 } from './verrou.ts'

/**
 * Contestants that wait for a held lock, in the order in which they take turns. None over HTTP: a thousand waiters that
 * poll every 50 ms send the gateway more than it can answer, and are not served within minutes.
 */
export const waiting: readonly Contestant[] = [
  leasehold,
  leaseholdFifo,
  leaseholdAlone,
  leaseholdPoll,
  redlock,
  redlock50,
  redisSemaphore,
  redisSemaphore50,
  redlockUniversal,
  redlockUniversal50,
  verrou,
  verrou50,
  simpleRedisMutex,
]

/** Contestants that poll every 50 ms, and those that do not need to. */
export const costModel: readonly Contestant[] = [
  rawSpin,
  leasehold,
  leaseholdPoll,
  leaseholdSpin,
  redlock50,
  redisSemaphore50,
  redlockUniversal50,
  verrou50,
  simpleRedisMutex,
]

/** Contestants for uncontended locks. Libraries are compared with those that use the same client. */
export const uncontended: Readonly<Record<Client, readonly Contestant[]>> = {
  ioredis: [
    rawIoredis,
    scriptsIoredis,
    batchedIoredis,
    rawFenced,
    rawAutoPipelining,
    leasehold,
    redlock,
    redisSemaphore,
    redlockUniversal,
    redlockUniversalLean,
    verrou,
    simpleRedisMutex,
  ],
  'node-redis': [
    rawNodeRedis,
    rawNodeRedisUntimed,
    scriptsNodeRedis,
    batchedNodeRedis,
    leaseholdNodeRedis,
    simpleRedisMutex,
  ],
  http: [rawFetch, scriptsFetch, batchedFetch, rawUpstash, leaseholdFetch, leaseholdUpstash, upstashLock],
  memory: [rawMap, leaseholdMemory],
}

/** Contestants that take turns of a moment, with the floors that count and the quickest other libraries. */
export const alternating: readonly Contestant[] = [
  rawIoredis,
  scriptsIoredis,
  leasehold,
  redlock,
  redisSemaphore,
  redlockUniversalLean,
  verrou,
]

/** Contestants that take one key over and over. One that gives up at once would measure its errors. */
export const hotKey: readonly Contestant[] = [
  promiseQueue,
  leasehold,
  leaseholdFifo,
  leaseholdAlone,
  redlock50,
  redisSemaphore,
  redlockUniversal50,
  verrou50,
  simpleRedisMutex,
  upstashLock50,
]

/** Contestants that renew what they hold. */
export const renewing: readonly Contestant[] = [leasehold, redlock, redisSemaphore, redlockUniversal]

/** Contestants whose waiters and leases are weighed. */
export const weighed: readonly Contestant[] = [promiseQueue, leasehold, redlock50, redisSemaphore50, redlockUniversal50]

/** Contestants that are asked for thousands of locks at once. */
export const bursting: readonly Contestant[] = [
  rawIoredis,
  scriptsIoredis,
  batchedIoredis,
  leasehold,
  redlock,
  redisSemaphore,
  redlockUniversal,
  verrou,
  simpleRedisMutex,
]

/** Contestants that have semaphores. */
export const pooled: readonly Contestant[] = [
  rawPermits,
  leaseholdSemaphore,
  redisSemaphorePermits,
  redisSemaphorePermits50,
]

const all: readonly Contestant[] = [
  ...waiting,
  ...costModel,
  ...Object.values(uncontended).flat(),
  ...hotKey,
  ...renewing,
  ...weighed,
  ...bursting,
  ...pooled,
]

/** @throws Error for an unknown contestant name */
export function contestantNamed(name: string): Contestant {
  const found = all.find((contestant) => contestant.name === name)
  if (!found) throw new Error(`No contestant is called "${name}"`)
  return found
}
