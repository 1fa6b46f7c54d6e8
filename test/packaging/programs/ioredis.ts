import { createLocker, LeaseLostError, StoreUnavailableError } from '@leasehold/core'
import { ioredisNotifier, ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'

/** Locks over TCP: held, lost, and refused where there is no server. */
export async function main(servers: { readonly redis: string }): Promise<string> {
  const redis = new Redis(servers.redis)
  const locks = createLocker({
    store: ioredisStore(redis, { prefix: 'tcp:' }),
    notifier: ioredisNotifier(redis, { prefix: 'tcp:' }),
  })
  const lease = await locks.acquire('order:1', { ttl: '10s' })
  await locks.revoke('order:1')
  const lost = await lease.renew({ ttl: '10s' }).catch((error: unknown) => error)
  if (!(lost instanceof LeaseLostError)) throw lost
  await locks.close()
  redis.disconnect()

  const nobody = new Redis({ host: '127.0.0.1', port: 1, lazyConnect: true, retryStrategy: () => null })
  nobody.on('error', () => undefined)
  const silence = await createLocker({ store: ioredisStore(nobody) })
    .tryAcquire('order:1')
    .catch((error: unknown) => error)
  if (!(silence instanceof StoreUnavailableError)) throw silence
  nobody.disconnect()
  return `${lost.reason} ${silence.executed}`
}
