import { createLocker, type Locker } from '@leasehold/core'
import { ioredisBackend } from '@leasehold/ioredis'
import { startRedis } from '@leasehold/testkit/redis'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { claims } from '../../packages/hono/test/served-app.ts'
import { Gates } from '../runtimes/gates.ts'
import { quiet } from './quiet.ts'

/** What the routes of a framework do under their locks and keys, as fetch-level handlers, and what they report. */
export class ClaimedWork {
  readonly locks: Locker
  readonly seen = { contended: 0, 'acquire-failed': 0 }
  readonly runs = new Map<string, number>()
  readonly #pass: (gate: string) => Promise<void>
  #inside = 0

  constructor(client: Redis, pass: (gate: string) => Promise<void>) {
    this.#pass = pass
    const onEvent = ({ type }: { readonly type: string }): void => {
      if (type in this.seen) this.seen[type as keyof typeof this.seen]++
    }
    this.locks = createLocker({ ...ioredisBackend(client), onEvent })
  }

  /** For `/:how/:key?do=`. */
  async locked({ url }: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(url)
    const key = pathname.split('/')[2] as string
    const most = ++this.#inside
    // The others get a turn.
    await this.locks.isLocked(key)
    this.#inside--
    const does = searchParams.get('do')
    if (does === 'throw') throw new Error('broken')
    if (does === 'wait') await this.#pass(key)
    if (does === 'stream') {
      const parts = ['begun ', 'ended']
      return new Response(
        new ReadableStream({
          pull: async (controller) => {
            const part = parts.shift()
            if (part === 'ended') await this.#pass(key)
            if (part) controller.enqueue(new TextEncoder().encode(part))
            else controller.close()
          },
        }),
      )
    }
    return Response.json({ most })
  }

  /** For `/once/payments`. It does what `X-Do` says. */
  async once(request: Request): Promise<Response> {
    const key = request.headers.get('idempotency-key') ?? 'none'
    const run = (this.runs.get(key) ?? 0) + 1
    this.runs.set(key, run)
    const does = request.headers.get('x-do') ?? ''
    if (does === 'wait') await this.#pass(key)
    if (does === 'throw') throw new Error('broken')
    if (/^\d+$/.test(does)) return new Response(null, { status: Number(does) })
    if (does === 'redirect') return new Response(null, { status: 303, headers: { location: '/receipts/1' } })
    if (does.startsWith('gzip')) return gzipped(`${run}`, does === 'gzip' ? 201 : 503)
    if (does === 'stream') {
      return new Response(new Blob([Uint8Array.of(0x00, 0xff), Uint8Array.of(0xfe, 0x80, run)]).stream())
    }
    const by = request.headers.get('x-tenant') ?? 'anonymous'
    return new Response(JSON.stringify({ run, by, für: await request.text() }), {
      status: 201,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        location: `/payments/${key}`,
        etag: `"${run}"`,
        'x-receipt': String(run),
        'set-cookie': `run=${run}`,
      },
    })
  }
}

async function gzipped(text: string, status: number): Promise<Response> {
  const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))
  return new Response(compressed, { status, headers: { 'content-encoding': 'gzip' } })
}

/** A server with the routes that the claims about middleware use. */
export interface ClaimedServer {
  readonly url: string
  close(): Promise<unknown>
}

/** Claims that hold for Hono's middleware must hold for this framework's handlers. */
export function frameworkClaims(serve: (work: ClaimedWork) => Promise<ClaimedServer>): void {
  claims(async () => {
    const redis = await startRedis()
    const client = quiet(new Redis(redis.url))
    const gates = new Gates()
    const server = await serve(new ClaimedWork(client, (gate) => gates.pass(gate)))
    return {
      url: server.url,
      asClient(path) {
        const leaving = new AbortController()
        const answer = fetch(server.url + path, { signal: leaving.signal })
        return async () => {
          leaving.abort()
          await expect(answer).rejects.toThrow('aborted')
        }
      },
      gates,
      redis,
      async [Symbol.asyncDispose]() {
        await server.close()
        client.disconnect()
        await redis.stop()
      },
    }
  })
}
