import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'

/** How long a client may take to send its request, in milliseconds. */
const requestTimeout = 30_000
/**
 * How long a connection is kept for the next request, in milliseconds: longer than the proxies in front keep theirs, which
 * is 60 s or 75 s. One that is closed from this side while a proxy sends a request on it is a 502 to somebody. Node begins
 * to count a request's time with its first byte, so this may be longer than `requestTimeout`.
 */
const keepAliveTimeout = 76_000
/**
 * How many bytes Node keeps for a slow reader before the stream keeps the rest. Nobody counts what Node keeps, and a short write
 * takes ten times its length in memory: with Node's default, 700 kB for a connection.
 */
const highWaterMark = 4_096

export interface HttpServer {
  readonly url: string
  /** Takes no new connection, waits until every request is answered, `graceMs` at most, and ends what is left. */
  close(graceMs: number): Promise<void>
}

/**
 * @param unreadable answers a request whose address is none, which the app does not see
 * @throws Error if the address cannot be had.
 */
export async function listen(
  app: Hono,
  { host, port }: { readonly host: string; readonly port: number },
  unreadable: () => Response = () => new Response('The address cannot be read', { status: 400 }),
): Promise<HttpServer> {
  const listener = getRequestListener(app.fetch, {
    // `Request` and `Response` stay what Node made them.
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
      // Those kept for a next request, and those that never had one, which are not "idle" to Node.
      server.closeAllConnections()
      await closed
    },
  }
}
