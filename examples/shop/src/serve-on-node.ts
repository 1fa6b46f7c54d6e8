import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import type { Hono } from 'hono'

/** How long a client may take to send its request, in milliseconds. */
const requestTimeout = 10_000
/** How long the last answers may take to reach their clients, in milliseconds. */
const lastAnswersMs = 2_000

export interface NodeServer {
  readonly url: string
  /** Accepts no new connections. Requests in progress continue. */
  refuse(): void
  /** Resolves when the last answers are sent. Call it when the work is over. */
  close(): Promise<void>
}

/** Serves an app on Node, and resolves when it listens. */
export async function serveOnNode(app: Hono, port: number, hostname: string): Promise<NodeServer> {
  async function answer(request: Request): Promise<Response> {
    const response = await app.fetch(request)
    // A closing server waits for its connections, so it keeps none open for a next request.
    if (!http.listening) response.headers.set('connection', 'close')
    return response
  }

  const http = serve({ fetch: answer, port, hostname, serverOptions: { requestTimeout } }) as Server
  const closed = once(http, 'close')
  await once(http, 'listening')
  const host = hostname.includes(':') ? `[${hostname}]` : hostname
  return {
    url: `http://${host}:${(http.address() as AddressInfo).port}`,
    refuse: () => void http.close(),
    async close() {
      // Some connections never had a request. Node does not count them as idle, and would wait for them.
      const impatience = setTimeout(() => http.closeAllConnections(), lastAnswersMs)
      await closed
      clearTimeout(impatience)
    },
  }
}
