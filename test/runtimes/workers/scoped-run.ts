/*
 * Works for 20 s under a lock whose lease lasts 3 s. `/bytes` answers at once, with a byte now and then: only then does
 * the runtime notice that a client has left. `/told` ends its work when the signal of its request says so. `/as-client`
 * requests `/told`, and leaves when the test lets it.
 */

import { env, waitUntil } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

const store = fetchStore({ url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN })
const locks = createLocker({ store, ttl: '3s', waitUntil: (task) => waitUntil(task) })
const workMs = 20_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

function bytes(key: string): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const work = locks.withLock(key, async () => {
    for (const until = Date.now() + workMs; Date.now() < until; await pause(100)) await writer.write(new Uint8Array(1))
  })
  work.then(
    () => writer.close(),
    () => undefined,
  )
  return new Response(readable)
}

/** Not by looking at the signal now and then: the runtime ends the request's timers once it has told of the abort. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

async function told(key: string, signal: AbortSignal): Promise<Response> {
  await locks.withLock(key, () => Promise.race([aborted(signal), pause(workMs)]))
  return Response.json('worked')
}

async function asClient(key: string): Promise<Response> {
  const client = new AbortController()
  const answer = env.SELF.fetch(`http://worker.example/told?key=${key}`, { signal: client.signal })
  await env.TEST.fetch(`http://test/leave-${key}`)
  client.abort()
  return answer.catch(() => Response.json('left'))
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const key = searchParams.get('key') ?? ''
    if (pathname === '/bytes') return bytes(key)
    return pathname === '/as-client' ? asClient(key) : told(key, request.signal)
  },
}
