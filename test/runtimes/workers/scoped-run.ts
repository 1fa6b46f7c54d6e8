/*
 * Works for 20 s under a lock whose lease lasts 3 s. `/bytes` answers at once, with a byte now and then, as only then does
 * the platform notice that a client has left. `/told` is told by the signal of its request. `/as-client` sends `/told` as
 * a client that leaves once the test lets it.
 */

import { env } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'

const locks = createLocker({ store: fetchStore({ url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN }), ttl: '3s' })
const workMs = 20_000

/** @param go called now and then; throws to end the work */
const work = (key: string, go: () => unknown): Promise<void> =>
  locks.withLock(key, async (lease) => {
    for (const until = Date.now() + workMs; Date.now() < until; ) {
      lease.assertValid()
      await go()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })

function bytes(key: string): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  work(key, () => writer.write(new Uint8Array(1))).then(
    () => writer.close(),
    () => undefined,
  )
  return new Response(readable)
}

async function asClient(key: string): Promise<Response> {
  const client = new AbortController()
  const answer = env.SELF.fetch(`http://worker.example/told?key=${key}`, { signal: client.signal })
  await env.TEST.fetch(`http://test/leave ${key}`)
  client.abort()
  return Response.json(
    await answer.then(
      ({ status }) => status,
      () => 'left',
    ),
  )
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const key = searchParams.get('key') ?? ''
    if (pathname === '/bytes') return bytes(key)
    if (pathname === '/as-client') return asClient(key)
    await work(key, () => request.signal.throwIfAborted())
    return Response.json('worked')
  },
}
