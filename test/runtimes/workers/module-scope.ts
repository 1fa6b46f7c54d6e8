/* Imports every entry and makes everything that can be made, at module scope, and then takes and gives back one lock. */

import { env } from 'cloudflare:workers'
import { createLocker, type Locker } from '@leasehold/core'
import { fencePredicate } from '@leasehold/core/fencing'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { redisStore } from '@leasehold/core/redis'
import { fetchStore, fetchTransport, upstashStore } from '@leasehold/upstash'
import { Redis } from '@upstash/redis/cloudflare'

const gateway = { url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }
const memory = memoryStore()
const lockers: Readonly<Record<string, Locker>> = {
  fetchStore: createLocker({ store: fetchStore(gateway), name: 'fetch' }),
  upstashStore: createLocker({ store: upstashStore(new Redis(gateway)), name: 'upstash' }),
  redisStore: createLocker({ store: redisStore(fetchTransport(gateway)) }),
  memoryStore: createLocker({ store: memory, notifier: memoryNotifier(memory) }),
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const [, store = '', key = ''] = pathname.split('/')
    const lease = await lockers[store]?.acquire(key)
    if (!lease) return new Response('There is no such store', { status: 404 })
    await env.TEST.fetch(`http://test${pathname}`)
    const { params } = fencePredicate('orders.fence', lease.fence)
    return Response.json({ fence: params[0], ended: await lease.release() })
  },
}
