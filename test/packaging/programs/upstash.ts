import { AcquireTimeoutError, createLocker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

/** Locks over HTTP, with fetch alone. */
export async function main(servers: { readonly gateway: string; readonly token: string }): Promise<string> {
  const store = fetchStore({ url: servers.gateway, token: servers.token })
  const others = createLocker({ store, wait: 0 })
  return createLocker({ store }).withLock('upstash', async (lease) => {
    const problem = await others.acquire('upstash').catch((error: unknown) => error)
    if (!(problem instanceof AcquireTimeoutError)) throw problem
    return `${problem.key} ${lease.fence > 0}`
  })
}
