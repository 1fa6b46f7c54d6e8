import { connect, constants } from 'node:http2'
import { createLocker } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { idempotent, keepBytes, locked } from '@leasehold/fastify'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAll, describe, expect, it } from 'vitest'

const store = memoryStore()
const locks = createLocker({ store, notifier: memoryNotifier(store) })
const ends: (() => Promise<unknown>)[] = [() => locks.close()]
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
})

async function serve(mount: (app: FastifyInstance) => unknown) {
  const app = fastify({ forceCloseConnections: true })
  await mount(app)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  ends.push(() => app.close())
  let keys = 0
  const post = (body: NonNullable<RequestInit['body']>, headers: object = {}, path = '/') =>
    fetch(url + path, {
      method: 'POST',
      body,
      duplex: 'half',
      headers: { 'idempotency-key': `k${keys++}`, ...headers },
    })
  return { url, post }
}
const once = (scope: string) => idempotent({ locks, scope }, async (web) => new Response(await web.arrayBuffer()))
const json = { 'content-type': 'application/json' }

describe('Fastify', () => {
  it('hands JSON on by its meaning, and bytes where they are kept', async () => {
    const { post } = await serve(async (app) => {
      app.post('/', once('parsed'))
      await app.register(async (scope) => {
        keepBytes(scope)
        scope.post('/bytes', once('bytes'))
      })
    })
    expect(await (await post('{ "a": 1 }', json)).text()).toBe('{"a":1}')
    expect(await (await post('{ "a": 1 }', json, '/bytes')).text()).toBe('{ "a": 1 }')
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index)
    const answer = await post(bytes, { 'content-type': 'image/png' }, '/bytes')
    expect(Buffer.compare(Buffer.from(await answer.arrayBuffer()), bytes)).toBe(0)
  })

  it('keeps what hooks have set beside what the answer says, and runs those that follow', async () => {
    const { post } = await serve((app) => {
      app.addHook('onRequest', async (_request, reply) => {
        reply.headers({ vary: 'Origin', 'x-before': 'yes', 'cache-control': 'public', 'set-cookie': 'outer=1' })
        reply.header('access-control-expose-headers', 'X-Total')
      })
      app.addHook('onSend', async (_request, reply, payload) => {
        reply.header('x-after', 'yes')
        return payload
      })
      const answer = idempotent({ locks, scope: 'outer' }, () => {
        const headers = new Headers({ vary: 'Accept', 'cache-control': 'no-store' })
        headers.append('set-cookie', 'a=1')
        headers.append('set-cookie', 'b=2')
        return new Response('done', { status: 201, statusText: 'Made', headers })
      })
      app.post('/', answer)
    })
    const key = { 'idempotency-key': 'same', origin: 'https://shop.example' }
    const [first, replay] = [await post('x', key), await post('x', key)]
    expect([first.status, first.statusText, first.headers.get('x-before'), first.headers.get('x-after')]).toEqual([
      ...[201, 'Made', 'yes', 'yes'],
    ])
    expect([first.headers.get('vary'), first.headers.get('cache-control')]).toEqual(['Origin, Accept', 'no-store'])
    expect(first.headers.getSetCookie()).toEqual(['outer=1', 'a=1', 'b=2'])
    expect([replay.headers.getSetCookie(), replay.headers.get('access-control-expose-headers')]).toEqual([
      ['outer=1'],
      'X-Total, Idempotency-Replayed',
    ])
  })

  it('knows the parameters of the route, and the whole address', async () => {
    const { url } = await serve((app) =>
      app.register(
        async (scope) => {
          interface Order {
            readonly Params: { readonly id: string }
          }
          const route = locked<Order>({ locks, key: ({ params }) => `order:${params.id}` }, (web, { lease }) =>
            Response.json([lease.key, new URL(web.url).pathname]),
          )
          scope.put<Order>('/orders/:id', route)
        },
        { prefix: '/api' },
      ),
    )
    const answer = await fetch(`${url}/api/orders/7`, { method: 'PUT' })
    expect(await answer.json()).toEqual(['order:7', '/api/orders/7'])
  })

  it('tells a handler when its client leaves, and keeps no lock for it', async () => {
    const begun = Promise.withResolvers<AbortSignal>()
    const { url } = await serve((app) =>
      app.get(
        '/',
        locked({ locks, key: () => 'left' }, async ({ signal }) => {
          begun.resolve(signal)
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          throw signal.reason
        }),
      ),
    )
    const client = new AbortController()
    const asking = fetch(url, { signal: client.signal }).catch(() => 'gone')
    const signal = await begun.promise
    client.abort()
    expect(await asking).toBe('gone')
    await expect.poll(() => locks.isLocked('left')).toBe(false)
    expect(signal.reason).toEqual(new Error('The client has left'))
  })

  it('serves over HTTP/2, and tells a handler when its client leaves', async () => {
    const app = fastify({ http2: true })
    const begun = Promise.withResolvers<AbortSignal>()
    const work = async (web: Request): Promise<Response> => {
      if (web.method === 'POST') return Response.json(await web.json())
      begun.resolve(web.signal)
      await new Promise((resolve) => web.signal.addEventListener('abort', resolve))
      throw web.signal.reason
    }
    app.route({ method: ['GET', 'POST'], url: '/', handler: locked({ locks, key: () => 'http2' }, work) as never })
    const session = connect(await app.listen({ host: '127.0.0.1', port: 0 }))
    ends.push(async () => {
      session.destroy()
      await app.close()
    })
    const asking = session.request({ ':method': 'POST', ':path': '/', 'content-type': 'application/json' })
    asking.end('{"a":1}')
    expect(await asking.setEncoding('utf8').toArray()).toEqual(['{"a":1}'])
    const leaving = session.request({ ':path': '/' })
    const signal = await begun.promise
    leaving.close(constants.NGHTTP2_CANCEL)
    await expect.poll(() => signal.aborted).toBe(true)
    await expect.poll(() => locks.isLocked('http2')).toBe(false)
  })

  it('ends the stream of an answer when its client leaves', async () => {
    const cancelled = Promise.withResolvers<void>()
    const { url } = await serve((app) =>
      app.get(
        '/',
        locked({ locks, key: () => 'stream' }, () => {
          const chunk = new Uint8Array(10_000)
          const cancel = (): void => cancelled.resolve()
          return new Response(new ReadableStream({ pull: (to) => to.enqueue(chunk), cancel }))
        }),
      ),
    )
    const client = new AbortController()
    const answer = await fetch(url, { signal: client.signal })
    await answer.body?.getReader().read()
    client.abort()
    await cancelled.promise
  })

  it('a handler that answers no Response is told so; its lock is given back, its key is in doubt', async () => {
    const words = 'The handler must answer a Response, such as Response.json(...)'
    const { url, post } = await serve((app) => {
      const object = () => ({ id: 7 }) as never
      app.post('/locked', locked({ locks, key: () => 'none' }, object))
      app.post('/once', idempotent({ locks, scope: 'none' }, object))
    })
    const guarded = await fetch(`${url}/locked`, { method: 'POST' })
    expect([guarded.status, await guarded.json()]).toEqual([500, expect.objectContaining({ message: words })])
    expect(await locks.isLocked('none')).toBe(false)
    const key = { 'idempotency-key': 'none' }
    expect(await (await post('', key, '/once')).json()).toMatchObject({ message: words })
    expect((await (await post('', key, '/once')).json()) as object).toMatchObject({ type: '/problems/in-doubt' })
    // Without a key nothing is recorded, and the error is the same.
    const lax = await serve((app) =>
      app.get(
        '/',
        idempotent({ locks, scope: 'none' }, () => undefined as never),
      ),
    )
    expect(await (await fetch(lax.url)).json()).toMatchObject({ message: words })
  })

  it('a mistake in an option is told when the route is made', () => {
    const work = () => new Response()
    expect(() => locked({ locks, key: () => 'k', ttl: -1 }, work)).toThrow(expect.objectContaining({ option: 'ttl' }))
    expect(() => idempotent({ locks, scope: '' }, work)).toThrow(expect.objectContaining({ option: 'scope' }))
    expect(() => idempotent({ locks, scope: 'a' }, 5 as never)).toThrow('idempotent(options, handler)')
    expect(() => locked({ locks, key: () => 'k' }, undefined as never)).toThrow('locked(options, handler)')
  })
})
