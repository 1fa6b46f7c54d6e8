/* Takes the one lock and notes in the referee's list when it comes in and when it leaves. `/lawless` does so without the
 * lock; `/take?key=…&wait=…` takes and releases another. Waits through the bridge if there is one, and polls otherwise. */

import { env } from 'cloudflare:workers'
import { bridgeNotifier } from '@leasehold/bridge-client'
import { eventStreams } from '@leasehold/bridge-client/event-streams'
import { createLocker, type WaitStrategy } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

const gateway = { url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }
const { BRIDGE_URL: url, BRIDGE_TOKEN: token } = env
const mode = env.BRIDGE_MODE === 'sse' ? eventStreams : 'long-poll'
/** A waiter with this strategy never checks by itself within a test. */
const never: WaitStrategy = { delayMs: () => 3_600_000 }

let refused = 0
let longestWaitMs = 0
const locks = createLocker({
  store: fetchStore(gateway),
  ...(url && { notifier: bridgeNotifier({ url, token, mode }) }),
  name: 'worker',
  onEvent: (event) => {
    if (event.type === 'contended') refused++
    if (event.type === 'acquired') longestWaitMs = Math.max(longestWaitMs, event.waitedMs)
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

/** With a bridge, a waiter that is not woken by it waits until its time is up. */
const patient = url ? ({ ttl: '2m', wait: '60s', recheck: '5m', strategy: never } as const) : ({ wait: '60s' } as const)

async function take(query: URLSearchParams): Promise<Response> {
  const options = { ttl: '2m', recheck: '5m', wait: Number(query.get('wait')) } as const
  const strategy = query.has('never') ? { strategy: never } : {}
  try {
    await using lease = await locks.acquire(query.get('key') ?? '', { ...options, ...strategy })
    return Response.json({ commands: lease.commands, waitedMs: lease.waitedMs })
  } catch (error) {
    return Response.json({ code: (error as { code?: string }).code })
  }
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/take') return take(searchParams)
    if (pathname === '/') await locks.withLock('shared', patient, ({ fence }) => round(fence))
    if (pathname === '/lawless') await round(0)
    return Response.json({ refused, longestWaitMs })
  },
}
