import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'

/** How long a client may take to send its request, in milliseconds. */
const requestTimeout = 30_000
/**
 * How long an idle connection is kept, in milliseconds: longer than proxies keep theirs, which is 60 s or 75 s. If this
 * side closes a connection at the moment a proxy sends a request on it, somebody sees a 502. Node counts a request's
 * time from its first byte, so this may be longer than `requestTimeout`.
 */
const keepAliveTimeout = 76_000
/**
 * How many bytes Node buffers for a slow reader before the stream keeps the rest. Nobody counts Node's buffer, and a short write
 * takes ten times its length there: with Node's default, 700 kB per connection.
 */
const highWaterMark = 4_096

export interface HttpServer {
  readonly url: string
  /** Stops accepting connections, waits up to `graceMs` until every request is answered, and ends what is left. */
  close(graceMs: number): Promise<void>
}

/**
 * @param unreadable answers a request whose URL cannot be parsed; the app does not see it
 * @throws Error if the address is not available.
 */
export async function listen(
  app: Hono,
  { host, port }: { readonly host: string; readonly port: number },
  unreadable: () => Response = () => new Response('The address cannot be read', { status: 400 }),
): Promise<HttpServer> {
  const listener = getRequestListener(app.fetch, {
    // Leaves Node's own `Request` and `Response` in place.
    overrideGlobalObjects: false,
    errorHandler: unreadable,
  })
  const server = createServer({ requestTimeout, keepAliveTimeout, highWaterMark }, listener)
  const open = new Set<ServerResponse>()
  server.on('request', (_, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    async close(graceMs) {
      const closed = once(server, 'close')
      server.close()
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs)
        const answered = Promise.all(Array.from(open, (response) => once(response, 'close')))
        void answered.then(() => {
          clearTimeout(timer)
          resolve()
        })
      })
      // Ends idle connections, and those that never had a request, which Node does not count as idle.
      server.closeAllConnections()
      await closed
    },
  }
}
