import { randomUUID } from 'node:crypto'
import { connectNodeRedis, type NodeRedisOptions } from './connect-node-redis.ts'
import { type Contestant, ttlMs as defaultTtlMs } from './contestant.ts'

/** The minimum lock with this client: SET NX PX, and a script that deletes what is still ours. Does not wait. */
export const rawNodeRedis: Contestant = raw('raw-node-redis')

/** The same without the timer that the client sets for each command. */
export const rawNodeRedisUntimed: Contestant = raw('raw-node-redis-untimed', { commandOptions: { timeout: undefined } })

function raw(name: string, options?: NodeRedisOptions): Contestant {
  return {
    name,
    role: 'floor',
    client: 'node-redis',
    sends: ['set', 'evalsha'],
    async connect(port) {
      const redis = await connectNodeRedis(port, options)
      const sha = await redis.scriptLoad(`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`)
      return {
        async acquire(key, ttlMs = defaultTtlMs) {
          const token = randomUUID()
          if ((await redis.set(key, token, { PX: ttlMs, NX: true })) !== 'OK') throw new Error(`${key} is held`)
          return { release: () => redis.evalSha(sha, { keys: [key], arguments: [token] }) }
        },
      }
    },
  }
}
