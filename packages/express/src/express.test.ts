import { connect } from 'node:net'
import { createLocker } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { idempotent, locked } from '@leasehold/express'
import express5, { type NextFunction, type Request, type Response } from 'express'
import express4 from 'express-4'
import { afterAll, describe, expect, it } from 'vitest'
import { served } from '../test/served.ts'

describe.each([
  ['5', express5],
  ['4', express4],
])('Express %s', (_, express) => {
  const store = memoryStore()
  const locks = createLocker({ store, notifier: memoryNotifier(store) })
  const ends: (() => Promise<void>)[] = [() => locks.close()]
  afterAll(async () => {
    for (const end of ends.toReversed()) await end()
  })

  async function serve(mount: (app: ReturnType<typeof express5>) => unknown) {
    const app = express()
    mount(app)
    app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
      res.status(500).send(error.message)
    })
    const server = await served(app)
    ends.push(server.close)
    let keys = 0
    const post = (body: NonNullable<RequestInit['body']>, headers: object = {}, path = '/') =>
      fetch(server.url + path, {
        method: 'POST',
        body,
        duplex: 'half',
        headers: { 'idempotency-key': `k${keys++}`, ...headers },
      })
    return { url: server.url, post }
  }
  const once = (scope: string) =>
    idempotent({ locks, scope }, async (request) => new globalThis.Response(await request.arrayBuffer()))
  const json = { 'content-type': 'application/json' }

  it('hands a body that nobody has read on to the byte, and one that a parser has read as what it was', async () => {
    const { post } = await serve((app) => {
      app.post('/', once('unread'))
      app.post('/json', express.json(), once('json'))
      app.post('/raw', express.raw({ type: '*/*' }), once('raw'))
      const drop = (req: Request, _res: Response, next: () => void): void => {
        req.once('end', next).resume()
      }
      app.post('/dropped', drop, once('dropped'))
      app.post('/form', express.urlencoded({ extended: false }), once('form'))
    })
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index)
    for (const path of ['/', '/raw']) {
      expect(Buffer.compare(Buffer.from(await (await post(bytes, {}, path)).arrayBuffer()), bytes)).toBe(0)
    }
    expect(await (await post('{ "a": 1 }', json, '/json')).text()).toBe('{"a":1}')
    expect((await post('{"a":1}', json, '/dropped')).status).toBe(500)
    const form = await post('a=1', { 'content-type': 'application/x-www-form-urlencoded' }, '/form')
    expect([form.status, await form.text()]).toEqual([500, expect.stringContaining('let its parser keep the bytes')])
  })

  it('refuses without reading the body, and the connection goes on', async () => {
    const { url } = await serve((app) => app.post('/', once('refused')))
    const large = 'x'.repeat(200_000)
    const head = (more: string): string =>
      `POST / HTTP/1.1\r\nHost: a\r\n${more}Content-Length: ${large.length}\r\n\r\n`
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    let answers = ''
    socket.on('data', (data) => {
      answers += data.toString()
    })
    socket.write(head('') + large)
    await expect.poll(() => answers.match(/HTTP\/1.1 400/g)?.length).toBe(1)
    socket.write(head('Idempotency-Key: later\r\n') + large)
    await expect.poll(() => answers.match(/HTTP\/1.1 200/g)?.length).toBe(1)
    socket.destroy()
  })

  it('a body that is too large is refused before it has come, and the answer arrives', async () => {
    const limited = idempotent({ locks, scope: 'large', largestBody: 1_000 }, () => new globalThis.Response('no'))
    const { post } = await serve((app) => app.post('/', limited))
    const chunked = new Blob([new Uint8Array(500_000)]).stream()
    const answer = await post(chunked)
    expect(answer.status).toBe(413)
  })

  it('keeps what earlier middleware has set beside what the answer says', async () => {
    const { post } = await serve((app) => {
      app.use((_req, res, next) => {
        res.set({ vary: 'Origin', 'x-before': 'yes', 'cache-control': 'public' }).append('set-cookie', 'outer=1')
        res.set('access-control-expose-headers', 'X-Total')
        next()
      })
      const answer = idempotent({ locks, scope: 'outer' }, () => {
        const headers = new Headers({ vary: 'Accept', 'cache-control': 'no-store' })
        headers.append('set-cookie', 'a=1')
        headers.append('set-cookie', 'b=2')
        return new globalThis.Response('done', { status: 201, statusText: 'Made', headers })
      })
      app.post('/', answer)
    })
    const key = { 'idempotency-key': 'same', origin: 'https://shop.example' }
    const [first, replay] = [await post('x', key), await post('x', key)]
    expect([first.status, first.statusText, first.headers.get('x-before')]).toEqual([201, 'Made', 'yes'])
    expect([first.headers.get('vary'), first.headers.get('cache-control')]).toEqual(['Origin, Accept', 'no-store'])
    expect(first.headers.getSetCookie()).toEqual(['outer=1', 'a=1', 'b=2'])
    expect([replay.headers.getSetCookie(), replay.headers.get('access-control-expose-headers')]).toEqual([
      ['outer=1'],
      'X-Total, Idempotency-Replayed',
    ])
  })

  it('knows the parameters of the route and what earlier middleware has left, and the whole address', async () => {
    const { url } = await serve((app) => {
      app.use((_req, res, next) => {
        res.locals['tenant'] = 'acme'
        next()
      })
      const key = (req: Request): string => `order:${req.params['id']}`
      const router = express.Router()
      router.put(
        '/orders/:id',
        locked({ locks, key }, (request, { lease, req, res }) =>
          globalThis.Response.json([lease.key, req.params['id'], res.locals['tenant'], new URL(request.url).pathname]),
        ),
      )
      app.use('/api', router)
    })
    const answer = await fetch(`${url}/api/orders/7`, { method: 'PUT' })
    expect(await answer.json()).toEqual(['order:7', '7', 'acme', '/api/orders/7'])
  })

  it('tells a handler that answers as handlers of Express do; its lock is given back, its key is in doubt', async () => {
    const words = 'The handler must answer a Response, such as Response.json(...)'
    const told: string[] = []
    const { url, post } = await serve((app) => {
      const sends = (_request: unknown, { res }: { readonly res: Response }) => res.json({ id: 7 }) as never
      app.post('/locked', locked({ locks, key: () => 'none' }, sends))
      app.post('/once', idempotent({ locks, scope: 'none' }, sends))
      app.get(
        '/',
        idempotent({ locks, scope: 'none' }, () => undefined as never),
      )
      app.use((error: Error, _req: Request, res: Response, next: NextFunction) => {
        told.push(error.message)
        if (!res.headersSent) next(error)
      })
    })
    await fetch(`${url}/locked`, { method: 'POST' })
    expect(await locks.isLocked('none')).toBe(false)
    const key = { 'idempotency-key': 'none' }
    await post('', key, '/once')
    expect(await (await post('', key, '/once')).json()).toMatchObject({ type: '/problems/in-doubt' })
    // A request that passes through unguarded gets the same error.
    expect(await (await fetch(url)).text()).toBe(words)
    expect(told).toEqual([words, words, words])
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

  it('does nothing for a client that has left before its turn, and takes nothing amiss', async () => {
    const arrived = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const done: string[] = []
    const { url } = await serve((app) => {
      app.use((_req, res, next) => {
        res.once('close', () => next())
        arrived.resolve()
      })
      const key = (): string => {
        asked.resolve()
        return 'early'
      }
      app.get(
        '/',
        locked({ locks, key }, () => {
          done.push('work')
          return new globalThis.Response()
        }),
      )
      app.use((_error: Error, _req: Request, _res: Response, _next: NextFunction) => void done.push('error'))
    })
    const client = new AbortController()
    const asking = fetch(url, { signal: client.signal }).catch(() => 'gone')
    await arrived.promise
    client.abort()
    await asked.promise
    await locks.withLock('early', async () => undefined)
    expect([await asking, done]).toEqual(['gone', []])
  })

  it('ends the stream of an answer when its client leaves', async () => {
    const cancelled = Promise.withResolvers<void>()
    const { url } = await serve((app) =>
      app.get(
        '/',
        locked({ locks, key: () => 'stream' }, () => {
          const chunk = new Uint8Array(10_000)
          const cancel = (): void => cancelled.resolve()
          return new globalThis.Response(new ReadableStream({ pull: (to) => to.enqueue(chunk), cancel }))
        }),
      ),
    )
    const client = new AbortController()
    const answer = await fetch(url, { signal: client.signal })
    await answer.body?.getReader().read()
    client.abort()
    await cancelled.promise
  })

  it('a mistake in an option is told when the route is made', () => {
    const work = () => new globalThis.Response()
    expect(() => locked({ locks, key: () => 'k', ttl: -1 }, work)).toThrow(expect.objectContaining({ option: 'ttl' }))
    expect(() => idempotent({ locks, scope: '' }, work)).toThrow(expect.objectContaining({ option: 'scope' }))
    expect(() => idempotent({ locks, scope: 'a' }, 5 as never)).toThrow('idempotent(options, handler)')
    expect(() => locked({ locks, key: () => 'k' }, undefined as never)).toThrow('locked(options, handler)')
  })
})
