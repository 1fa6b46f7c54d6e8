import { randomUUID } from 'node:crypto'
import { type Contestant, ttlMs as defaultTtlMs, type Held } from './contestant.ts'
import { gatewayToken, gatewayUrl } from './gateway.ts'
import { restClient } from './rest-client.ts'

const releaseText = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`

/**
 * The minimum lock over HTTP: SET NX PX and a script that deletes what is still ours, a `fetch` each. Does not wait.
 */
export const rawFetch: Contestant = {
  name: 'raw-fetch',
  role: 'floor',
  client: 'http',
  sends: ['set', 'eval'],
  async connect(port) {
    const command = restClient(port)
    return {
      async acquire(key, ttlMs = defaultTtlMs): Promise<Held> {
        const token = randomUUID()
        if ((await command(['SET', key, token, 'PX', ttlMs, 'NX'])) !== 'OK') throw new Error(`${key} is held`)
        return { release: () => command(['EVAL', releaseText, 1, key, token]) }
      },
    }
  },
}

/** The same through `@upstash/redis` with its defaults, which send the commands of one turn of the event loop as one request. */
export const rawUpstash: Contestant = {
  name: 'raw-upstash',
  role: 'floor',
  client: 'http',
  sends: ['set', 'eval'],
  async connect(port) {
    const { Redis } = await import('@upstash/redis')
    const redis = new Redis({ url: gatewayUrl(port), token: gatewayToken, enableTelemetry: false })
    return {
      async acquire(key, ttlMs = defaultTtlMs): Promise<Held> {
        const token = randomUUID()
        if ((await redis.set(key, token, { px: ttlMs, nx: true })) !== 'OK') throw new Error(`${key} is held`)
        return { release: () => redis.eval(releaseText, [key], [token]) }
      },
    }
  },
}
