/*
 * The app of `testApp`, with its locker at module scope. `/as-client` requests another path from it, and leaves at a
 * gate.
 */

import { env } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { fetchStore } from '@leasehold/upstash'
import { testApp } from '../../../packages/hono/test/test-app.ts'

const store = fetchStore({ url: env.GATEWAY_URL, token: env.GATEWAY_TOKEN })
const pass = (gate: string): Promise<Response> => env.TEST.fetch(`http://test/${encodeURIComponent(gate)}`)
const app = testApp({ lockerWith: (onEvent) => createLocker({ store, onEvent }), pass })

async function asClient(path: string): Promise<Response> {
  const client = new AbortController()
  const answer = env.SELF.fetch(`http://worker.example${path}`, { signal: client.signal })
  await pass(`leave${path}`)
  client.abort()
  return answer.catch(() => Response.json('left'))
}

// biome-ignore lint/style/noDefaultExport: that is what a Worker is
export default {
  async fetch(request: Request, bindings: object, execution: Parameters<typeof app.fetch>[2]): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    return pathname === '/as-client'
      ? asClient(searchParams.get('path') ?? '')
      : app.fetch(request, bindings, execution)
  },
}
