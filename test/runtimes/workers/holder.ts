/*
 * Takes a lock, stops until the test lets it continue, releases the lock and answers with the outcome. With `leave` it
 * returns without releasing.
 */

import { env } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

/** One for all requests. */
const locks = createLocker({
  store: fetchStore({ url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }),
  onEvent: ({ type }) => {
    if (type === 'contended') void env.TEST.fetch('http://test/contended')
  },
})

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const lease = await locks.acquire(searchParams.get('key') ?? '', {
      ttl: Number(searchParams.get('ttl')),
      wait: Number(searchParams.get('wait')),
    })
    await env.TEST.fetch(`http://test${pathname}`)
    if (searchParams.has('leave')) return Response.json({ fence: lease.fence })
    const told = lease.signal.aborted
    return Response.json({ fence: lease.fence, told, ended: await lease.release() })
  },
}
