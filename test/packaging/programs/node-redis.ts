import { createLocker, LeaseLostError, StoreUnavailableError } from '@leasehold/core'
import { nodeRedisBackend, nodeRedisStore } from '@leasehold/node-redis'
import { createClient } from 'redis'

/** Locks over TCP: held, lost, and refused where there is no server. */
export async function main(servers: { readonly redis: string }): Promise<string> {
  const redis = createClient({ url: servers.redis })
  await redis.connect()
  const locks = createLocker(nodeRedisBackend(redis, { prefix: 'node:' }))
  const lease = await locks.acquire('order:1', { ttl: '10s' })
  await locks.revoke('order:1')
  const lost = await lease.renew({ ttl: '10s' }).catch((error: unknown) => error)
  if (!(lost instanceof LeaseLostError)) throw lost
  await locks.close()
  redis.destroy()

  const nobody = createClient({ socket: { host: '127.0.0.1', port: 1, reconnectStrategy: 100 } })
  nobody.on('error', () => undefined)
  nobody.connect().catch(() => undefined)
  const silence = await createLocker({ store: nodeRedisStore(nobody) })
    .tryAcquire('order:1')
    .catch((error: unknown) => error)
  if (!(silence instanceof StoreUnavailableError)) throw silence
  nobody.destroy()
  return `${lost.reason} ${silence.executed}`
}
