/*
 * Answers while something it has started is still in flight: a release (`/release`), or the undo of an acquire that it
 * gave up (`/give-up`). With `hand-over` its locker has a `waitUntil`.
 */

import { env, waitUntil } from 'cloudflare:workers'
import { createLocker, type Locker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

const store = fetchStore({ url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN })
/** Both serve all requests: `waitUntil` applies to the request that is running. */
const plain = createLocker({ store })
const handingOver = createLocker({ store, waitUntil: (task) => waitUntil(task) })

async function leave(locks: Locker, key: string): Promise<unknown> {
  const lease = await locks.acquire(key, { ttl: '60s', renew: false })
  await env.TEST.fetch(`http://test/${key}`)
  void lease.release()
  return lease.fence
}

async function giveUp(locks: Locker, key: string): Promise<unknown> {
  return locks.acquire(key, { ttl: '60s', signal: AbortSignal.timeout(500) }).catch(({ name }: Error) => name)
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const locks = searchParams.has('hand-over') ? handingOver : plain
    const key = searchParams.get('key') ?? ''
    return Response.json(await (pathname === '/release' ? leave(locks, key) : giveUp(locks, key)))
  },
}
