/*
 * A separate process, standing for a function that its platform freezes between two invocations, or in the middle of
 * one. It does what a message asks for, and answers with the outcome. Argument: where things are, as JSON.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { bridgeNotifier } from '@leasehold/bridge-client'
import { createLocker, type Lease } from '@leasehold/core'
import type { LeaseStore, ReleaseNotifier, Subscription } from '@leasehold/core/adapter'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

/** How the function reaches its store and its notifier. */
export type Way = 'tcp' | 'sse' | 'long-poll'

export interface Places {
  readonly way: Way
  readonly redisPort: number
  readonly gateway: { readonly url: string; readonly token: string }
  readonly bridge: { readonly url: string; readonly token: string }
}

/**
 * What the function is asked to do. `at` in the answers is in milliseconds since the epoch, which all processes of a
 * machine share.
 */
export interface Order {
  readonly id: number
  readonly job: keyof typeof jobs
  readonly key: string
  readonly ms: number
}

/** What a holder sees of its lease. */
export interface Seen {
  readonly remainingMs: number
  /** What `assertValid` throws. */
  readonly code?: string
  /** Why the lease was lost. */
  readonly reason?: unknown
  /** When its signal fired. */
  readonly lostAt?: number
}

/** How an acquire, or work under a lock, ended. */
export interface Ending extends Partial<Seen> {
  readonly at: number
  /** What the work returned. */
  readonly result?: unknown
  readonly commands?: number
}

/** The outcome of being frozen in the middle of everything. */
export interface FrozenHere {
  readonly seen: Seen
  /** `granted`, `not granted` or an error's code. */
  readonly tries: readonly string[]
  readonly left: unknown
}

const { way, ...places } = JSON.parse(process.argv[2] ?? '') as Places
const rejections: string[] = []
process.on('unhandledRejection', (reason) => rejections.push(String(reason)))

const redis = way === 'tcp' ? quiet(new Redis(places.redisPort)) : undefined
const store: LeaseStore = redis ? ioredisStore(redis) : fetchStore(places.gateway)
const plain: ReleaseNotifier = redis
  ? ioredisNotifier(redis)
  : bridgeNotifier({ ...places.bridge, mode: way === 'sse' ? 'sse' : 'long-poll' })
const subscriptions = new Map<string, Subscription>()
const notifier: ReleaseNotifier = {
  ...plain,
  subscribe(key, cursor) {
    const made = plain.subscribe(key, cursor)
    subscriptions.set(key, made)
    return made
  },
}
// Only the notifier can wake a waiter.
const locks = createLocker({ store, notifier, recheck: '10m' })
const leases = new Map<string, Lease>()
const lostAt = new Map<string, number>()
const finishing = new Map<string, () => void>()

async function hold({ key, ms }: Order): Promise<number | null> {
  const lease = await locks.acquire(key, { ttl: ms })
  leases.set(key, lease)
  lease.signal.addEventListener('abort', () => lostAt.set(key, Date.now()))
  return lease.fence
}

function check({ key }: Pick<Order, 'key'>): Seen {
  const lease = leases.get(key)
  const seen = { remainingMs: lease?.remaining() ?? Number.NaN }
  try {
    lease?.assertValid()
    return seen
  } catch (error) {
    return { ...seen, ...failure(error), ...(lostAt.has(key) && { lostAt: lostAt.get(key) as number }) }
  }
}

const failure = (error: unknown): Pick<Ending, 'code' | 'reason' | 'result'> => {
  const { code, reason, result } = error as { code: string; reason?: unknown; result?: unknown }
  return { code, reason, result }
}

async function ending(running: Promise<Partial<Ending>>): Promise<Ending> {
  try {
    const ended = await running
    return { at: Date.now(), ...ended }
  } catch (error) {
    return { ...failure(error), at: Date.now() }
  }
}

/** Reports when it had the lock, not when it had given it back. */
const take = ({ key, ms }: Order): Promise<Ending> =>
  ending(locks.withLock(key, { wait: ms, ttl: '10s' }, async ({ commands }) => ({ commands, at: Date.now() })))

const jobs = {
  hold,
  check,
  take,
  release: ({ key }: Order) => leases.get(key)?.release(),
  isHeard: ({ key }: Order) => subscriptions.get(key)?.live === true,
  /** Works under the lock until told to finish. */
  work: ({ key, ms }: Order) => ending(locks.withLock(key, { ttl: ms }, () => workUntilFinished(key))),
  isWorking: ({ key }: Order) => finishing.has(key),
  finish: ({ key }: Order) => finishing.get(key)?.(),
  /**
   * Is frozen in the middle of everything: it asked for locks a few turns ago and at this moment, and has just begun to
   * give one back. What it sees of its lease is read in the very next statement.
   */
  async freezeHere({ key, ms }: Order): Promise<FrozenHere> {
    await hold({ ...orderOf(`${key}:here`), ms })
    await hold({ ...orderOf(`${key}:left`), ms })
    const tries: Promise<Lease | null>[] = []
    for (let which = 0; which < 4; which++) {
      tries.push(locks.tryAcquire(`${key}:try-${which}`, { ttl: ms, renew: false }))
      if (which < 3) await turn()
    }
    const left = leases.get(`${key}:left`)?.release()
    process.kill(process.pid, 'SIGSTOP')
    const seen = check({ key: `${key}:here` })
    const outcomes = tries.map((trying) => trying.then(outcome, (error) => failure(error).code ?? ''))
    return { seen, tries: await Promise.all(outcomes), left: await left }
  },
  rejections: () => rejections,
}

async function workUntilFinished(key: string): Promise<Partial<Ending>> {
  await new Promise<void>((resolve) => finishing.set(key, resolve))
  return { result: 'done' }
}

const outcome = (lease: Lease | null): string => (lease && lease.remaining() > 0 ? 'granted' : 'not granted')
const orderOf = (key: string): Order => ({ id: 0, job: 'hold', key, ms: 0 })

process.on('message', async (order: Order | 'end') => {
  if (order === 'end') {
    await locks.close({ grace: 0 })
    await plain.close()
    redis?.disconnect()
    process.disconnect()
  } else {
    const answer = await Promise.resolve(jobs[order.job](order)).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: String(error) }),
    )
    process.send?.({ id: order.id, ...answer })
  }
})
await locks.isLocked('warm-up')
process.send?.({ id: 0 })
