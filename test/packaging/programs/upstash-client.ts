import { createLocker } from '@leasehold/core'
import { upstashStore } from '@leasehold/upstash'
import { Redis } from '@upstash/redis'

/** Locks with the settings of an `@upstash/redis` client. */
export async function main(servers: { readonly gateway: string; readonly token: string }): Promise<string> {
  const redis = new Redis({ url: servers.gateway, token: servers.token })
  const locks = createLocker({ store: upstashStore(redis, { prefix: 'client:' }) })
  return locks.withLock('order:1', async (lease) => `${lease.fence > 0} ${await locks.tryAcquire('order:1')}`)
}
