import type { Contestant } from './contestant.ts'
import { leasehold, leaseholdAlone, leaseholdPoll, leaseholdSpin } from './leasehold.ts'
import { promiseQueue } from './promise-queue.ts'
import { rawAutoPipelining, rawFenced, rawIoredis, rawSpin } from './raw-ioredis.ts'
import { redisSemaphore, redisSemaphore50 } from './redis-semaphore.ts'
import { redlock, redlock50 } from './redlock.ts'
import { simpleRedisMutex } from './simple-redis-mutex.ts'

/** Those that wait for a lock that is held, in the order in which they take turns. */
export const waiting: readonly Contestant[] = [
  leasehold,
  leaseholdAlone,
  leaseholdPoll,
  redlock,
  redlock50,
  redisSemaphore,
  redisSemaphore50,
  simpleRedisMutex,
]

/** Those that poll each 50 ms, and those that need not. */
export const costModel: readonly Contestant[] = [
  rawSpin,
  leasehold,
  leaseholdPoll,
  leaseholdSpin,
  redlock50,
  redisSemaphore50,
  simpleRedisMutex,
]

export const uncontended: readonly Contestant[] = [
  rawIoredis,
  rawFenced,
  rawAutoPipelining,
  leasehold,
  redlock,
  redisSemaphore,
  simpleRedisMutex,
]

const all: readonly Contestant[] = [promiseQueue, ...waiting, ...costModel, ...uncontended]

/** @throws Error for a name that no contestant has */
export function contestantNamed(name: string): Contestant {
  const found = all.find((contestant) => contestant.name === name)
  if (!found) throw new Error(`No contestant is called "${name}"`)
  return found
}
