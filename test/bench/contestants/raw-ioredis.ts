import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { type ClientOptions, connectIoredis } from './connect-ioredis.ts'
import { type Contestant, ttlMs as defaultTtlMs, type Held } from './contestant.ts'

/** Takes the lock, or resolves with undefined. */
type Attempt = (key: string, ttlMs?: number) => Promise<Held | undefined>

/** The minimum lock: SET NX PX, and a script that deletes what is still ours. Does not wait. */
export const rawIoredis: Contestant = raw('raw-ioredis', plainAttempt, once)

export const rawAutoPipelining: Contestant = raw('raw-ioredis-pipelining', plainAttempt, once, {
  enableAutoPipelining: true,
})

/** The minimum that also mints a fence, and announces the release. Does not wait. */
export const rawFenced: Contestant = { ...raw('raw-ioredis-fenced', fencedAttempt, once), sends: ['evalsha'] }

/** The spin lock of the cost model: a try every 50 ms. */
export const rawSpin: Contestant = { ...raw('raw-spin-50', plainAttempt, spinning), role: 'other' }

function raw(
  name: string,
  attempt: (redis: Redis) => Promise<Attempt>,
  acquire: (attempt: Attempt) => (key: string, ttlMs?: number) => Promise<Held>,
  options?: ClientOptions,
): Contestant {
  return {
    name,
    role: 'floor',
    client: 'ioredis',
    sends: ['set', 'evalsha'],
    connect: async (port) => ({ acquire: acquire(await attempt(await connectIoredis(port, options))) }),
  }
}

function once(attempt: Attempt) {
  return async (key: string, ttlMs?: number): Promise<Held> => {
    const held = await attempt(key, ttlMs)
    if (!held) throw new Error(`${key} is held`)
    return held
  }
}

function spinning(attempt: Attempt) {
  return async (key: string): Promise<Held> => {
    for (;;) {
      const held = await attempt(key)
      if (held) return held
      await sleep(50)
    }
  }
}

async function plainAttempt(redis: Redis): Promise<Attempt> {
  const sha = await load(redis, `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`)
  return async (key, ttlMs = defaultTtlMs) => {
    const token = randomUUID()
    if ((await redis.set(key, token, 'PX', ttlMs, 'NX')) !== 'OK') return undefined
    return { release: () => redis.evalsha(sha, 1, key, token) }
  }
}

async function fencedAttempt(redis: Redis): Promise<Attempt> {
  const acquireSha = await load(
    redis,
    `if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then return redis.call('INCR', KEYS[2]) end`,
  )
  const releaseSha = await load(
    redis,
    `if redis.call('GET', KEYS[1]) == ARGV[1] then
       redis.call('DEL', KEYS[1])
       redis.call('PUBLISH', ARGV[2], 'released')
     end`,
  )
  return async (key, ttlMs = defaultTtlMs) => {
    const token = randomUUID()
    const fence = await redis.evalsha(acquireSha, 2, key, `${key}:fence`, token, ttlMs)
    if (fence === null) return undefined
    return { fence: Number(fence), release: () => redis.evalsha(releaseSha, 1, key, token, `${key}:released`) }
  }
}

const load = async (redis: Redis, script: string): Promise<string> => String(await redis.script('LOAD', script))
