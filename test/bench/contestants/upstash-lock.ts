import { type Contestant, ttlMs as defaultTtlMs, type Held, waitMs } from './contestant.ts'
import { gatewayToken, gatewayUrl } from './gateway.ts'

/** With its defaults: three tries, 0.1 ms apart. Under contention it gives up. It renews nothing. */
export const upstashLock: Contestant = variant('@upstash/lock', {})

export const upstashLock50: Contestant = variant('@upstash/lock-50', {
  retry: { attempts: waitMs / 50, delay: 50 },
})

function variant(
  name: string,
  settings: { readonly retry?: { readonly attempts: number; readonly delay: number } },
): Contestant {
  return {
    name,
    role: 'other',
    client: 'http',
    sends: ['set', 'eval'],
    async connect(port) {
      const [{ Lock }, { Redis }] = await Promise.all([import('@upstash/lock'), import('@upstash/redis')])
      const client = new Redis({ url: gatewayUrl(port), token: gatewayToken, enableTelemetry: false })
      // The declarations of its CommonJS build are what the library was compiled against.
      const redis = client as unknown as ConstructorParameters<typeof Lock>[0]['redis']
      return {
        async acquire(key, ttlMs = defaultTtlMs): Promise<Held> {
          const lock = new Lock({ id: key, redis, lease: ttlMs, ...settings })
          if (!(await lock.acquire())) throw new Error(`${key} is held`)
          return { release: () => lock.release() }
        },
      }
    },
  }
}
