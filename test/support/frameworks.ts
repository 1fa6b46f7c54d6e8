import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { idempotent as onExpress } from '@leasehold/express'
import { idempotent as onFastify } from '@leasehold/fastify'
import { type IdempotentOptions, type IdempotentWork, idempotent } from '@leasehold/idempotency'
import express5 from 'express'
import express4 from 'express-4'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'

/** A framework whose handlers can be idempotent. */
export interface Framework {
  readonly name: string
  /** Serves one handler for all paths. What the work throws becomes the framework's 500. */
  serve(options: IdempotentOptions, work: IdempotentWork): Promise<ServedHandler>
}

export interface ServedHandler {
  readonly url: string
  close(): Promise<unknown>
}

/** The fetch-level handle itself, over Hono. */
export const hono: Framework = {
  name: 'Hono',
  async serve(options, work) {
    const handle = idempotent(options)
    const app = new Hono().all('/*', ({ req }) => handle(req.raw, work))
    app.onError(() => new Response('failed', { status: 500 }))
    const server = await listen(app, { host: '127.0.0.1', port: 0 })
    return { url: server.url, close: () => server.close(0) }
  },
}

/** A scope function that gets what a Node server knows of a request. */
const scopeOf =
  ({ scope }: IdempotentOptions) =>
  ({ headers }: { readonly headers: object }) =>
    typeof scope === 'function' ? scope(new Request('http://a', { headers: headers as Record<string, string> })) : scope

async function served(listener: RequestListener): Promise<ServedHandler> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const overExpress = (name: string, express: typeof express5): Framework => ({
  name,
  serve: (options, work) => served(express().use(onExpress({ ...options, scope: scopeOf(options) }, work))),
})

/** Frameworks with an adapter of their own over the fetch-level handle. */
export const adapted: readonly Framework[] = [
  overExpress('Express 5', express5),
  overExpress('Express 4', express4),
  {
    name: 'Fastify 5',
    async serve(options, work) {
      const app = fastify({ forceCloseConnections: true })
      const handler = onFastify({ ...options, scope: scopeOf(options) }, work)
      app.route({ method: ['GET', 'POST'], url: '/*', handler })
      const url = await app.listen({ host: '127.0.0.1', port: 0 })
      return { url, close: () => app.close() }
    },
  },
]

/** Hono first. */
export const frameworks: readonly Framework[] = [hono, ...adapted]
