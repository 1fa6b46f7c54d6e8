/* Takes the one lock and notes in the referee's list when it comes in and when it goes.
 * Answers how often it was refused so far. `/lawless` does without the lock. */

import { env } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

const gateway = { url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }
let refused = 0
const locks = createLocker({
  store: fetchStore(gateway),
  name: 'worker',
  onEvent: ({ type }) => {
    if (type === 'contended') refused++
  },
})

async function note(fence: number | null, what: 'in' | 'out'): Promise<void> {
  const headers = { authorization: `Bearer ${gateway.token}` }
  const body = JSON.stringify(['RPUSH', 'referee', `worker ${fence} ${what}`])
  const { ok, status } = await fetch(gateway.url, { method: 'POST', headers, body })
  if (!ok) throw new Error(`The note was answered by ${status}`)
}

async function round(fence: number | null): Promise<void> {
  await note(fence, 'in')
  await note(fence, 'out')
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/') await locks.withLock('shared', ({ fence }) => round(fence), { wait: '60s' })
    if (pathname === '/lawless') await round(0)
    return Response.json(refused)
  },
}
