import type { Locker } from '@leasehold/core'
import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { stream } from 'hono/streaming'
import { idempotent } from '../src/index.ts'

/**
 * A payment that is made once for a key of a tenant. Its handler does what `X-Do` says, and waits at the gate of its
 * key.
 */
export function onceRoutes(locks: Locker, pass: (gate: string) => Promise<unknown>): Hono {
  const runs = new Map<string, number>()
  const keyOf = (c: Context): string => c.req.header('idempotency-key') ?? 'none'
  const routes = new Hono()
  routes.get('/runs/:key', (c) => c.json(runs.get(c.req.param('key')) ?? 0))
  const scope = (c: Context): string => c.req.header('x-tenant') ?? 'anonymous'
  routes.all('/payments', idempotent({ locks, scope, headers: ['x-receipt'] }), async (c) => {
    const key = keyOf(c)
    const run = (runs.get(key) ?? 0) + 1
    runs.set(key, run)
    switch (c.req.header('x-do')) {
      case 'wait':
        await pass(key)
        break
      case 'throw':
        throw new Error('broken')
      case '400':
      case '429':
      case '503':
        throw new HTTPException(Number(c.req.header('x-do')) as 400)
      case 'redirect':
        return c.redirect('/receipts/1', 303)
      case '204':
        return c.body(null, 204)
      case 'gzip':
      case 'gzip-503':
        return gzipped(`${run}`, c.req.header('x-do') === 'gzip' ? 201 : 503)
      case 'gzip-by-the-runtime':
        return new Response(`${run}`, { headers: { 'content-encoding': 'gzip' } })
      case 'stream':
        return stream(c, async (out) => {
          await out.write(Uint8Array.of(0x00, 0xff))
          await out.write(Uint8Array.of(0xfe, 0x80, run))
        })
    }
    return c.body(JSON.stringify({ run, by: scope(c), für: await c.req.text() }), 201, {
      'content-type': 'application/json; charset=utf-8',
      location: `/payments/${key}`,
      etag: `"${run}"`,
      'x-receipt': String(run),
      'set-cookie': `run=${run}`,
    })
  })
  return routes
}

/** A response that its handler has compressed, which Workers need to know. */
async function gzipped(text: string, status: number): Promise<Response> {
  const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))
  const init = { status, encodeBody: 'manual', headers: { 'content-encoding': 'gzip' } }
  return new Response(await new Response(compressed).arrayBuffer(), init)
}
