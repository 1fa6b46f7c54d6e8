import { createLocker, type Locker } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import type { IdempotencyEvent } from '@leasehold/idempotency'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { cors } from 'hono/cors'
import { HTTPException } from 'hono/http-exception'
import { stream } from 'hono/streaming'
import { validator } from 'hono/validator'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type IdempotentOptions, idempotent, locked } from './index.ts'

let locks: Locker
let runs: number
beforeEach(() => {
  const store = memoryStore()
  locks = createLocker({ store, notifier: memoryNotifier(store) })
  runs = 0
})
afterEach(() => locks.close({ grace: 0 }))

const once = (options: Partial<IdempotentOptions> = {}) => idempotent({ locks, scope: 'tenant', ...options })
const pay = async (c: Context): Promise<Response> => {
  runs++
  return c.json({ paid: await c.req.json() }, 201, { location: `/payments/${runs}` })
}
const sent = (more: RequestInit & { key?: string } = {}): RequestInit => ({
  method: 'POST',
  body: '{"amount":1}',
  ...more,
  headers: { 'idempotency-key': more.key ?? 'k', 'content-type': 'application/json', ...more.headers },
})
/** Status, type of problem if it is one, and whether it is a replay. */
async function saidBy(response: Response): Promise<string> {
  const isProblem = response.headers.get('content-type') === 'application/problem+json'
  const type = isProblem ? ` ${((await response.clone().json()) as { type: string }).type}` : ''
  return `${response.status}${type}${response.headers.has('idempotency-replayed') ? ' replayed' : ''}`
}
const twice = async (app: Hono, path: string, init = () => sent()): Promise<[Response, Response]> => [
  await app.request(path, init()),
  await app.request(path, init()),
]
const saidTwice = async (app: Hono, path = '/', init = () => sent()) =>
  Promise.all((await twice(app, path, init)).map(saidBy))

describe('a route that is idempotent', () => {
  it('runs once for a key, has the run on its context, and replays its answer', async () => {
    const app = new Hono().post('/', once(), (c) => {
      c.var.run?.assertValid()
      return c.text(`${typeof c.var.run?.fence} ${++runs}`, 201, { location: '/1' })
    })
    const [first, second] = await twice(app, '/')
    expect([await saidBy(first), await saidBy(second)]).toEqual(['201', '201 replayed'])
    expect([await first.text(), await second.text(), second.headers.get('location')]).toEqual([
      'number 1',
      'number 1',
      '/1',
    ])
  })

  it('takes its scope and its locker from the context', async () => {
    const app = new Hono<{ Bindings: { locks: Locker }; Variables: { tenant: string } }>()
    app.use(async (c, next) => {
      c.set('tenant', c.req.header('x-tenant') ?? '')
      await next()
    })
    app.post('/', idempotent({ locks: (c) => c.env.locks, scope: (c) => c.get('tenant') }), pay)
    const ask = async (tenant: string) =>
      saidBy(await app.request('/', sent({ headers: { 'x-tenant': tenant } }), { locks }))
    expect([await ask('a'), await ask('b'), await ask('b')]).toEqual(['201', '201', '201 replayed'])
    expect(await ask('')).toBe('500 /problems/misconfigured')
  })

  it.each(['GET', 'HEAD'])('lets a %s pass', async (method) => {
    const app = new Hono().all('/', once(), (c) => c.text(String(c.var.run), 200, { 'x-runs': String(++runs) }))
    const [first, second] = await twice(app, '/', () => sent({ method, body: null }))
    expect([first.headers.get('x-runs'), second.headers.get('x-runs')]).toEqual(['1', '2'])
    expect(await first.text()).toBe(method === 'HEAD' ? '' : 'undefined')
  })

  it.each([
    ['of a base path', () => new Hono().basePath('/api').post('/payments', once(), pay)],
    ['of a sub-app', () => new Hono().route('/api', new Hono().use(once()).post('/payments', pay))],
    ['of an app that is mounted', () => new Hono().mount('/api', new Hono().post('/payments', once(), pay).fetch)],
  ])('%s tells requests apart by path and query', async (_, appOf) => {
    const app = appOf() as unknown as Hono
    expect(await saidTwice(app, '/api/payments')).toEqual(['201', '201 replayed'])
    expect(await saidBy(await app.request('/api/payments?dry=1', sent()))).toBe('422 /problems/key-reused')
  })

  it('answers nobody when its client leaves before the work begins', async () => {
    const onError = vi.fn((_error: Error, c: Context) => c.text('', 500))
    const gate = Promise.withResolvers<void>()
    const app = new Hono().post('/', once({ wait: '5s' }), async (c) => {
      await gate.promise
      return c.text('done')
    })
    app.onError(onError)
    const first = app.request('/', sent())
    const client = new AbortController()
    const second = app.request(new Request('http://localhost/', sent({ signal: client.signal })))
    client.abort('Client connection prematurely closed.')
    expect((await second).status).toBe(499)
    gate.resolve()
    expect([(await first).status, onError.mock.calls]).toEqual([200, []])
  })

  it('keeps a Worker alive until its answer is recorded', async () => {
    const tasks: Promise<unknown>[] = []
    const context = {
      waitUntil: (task: Promise<unknown>) => tasks.push(task),
      passThroughOnException: () => undefined,
      props: {},
    }
    await new Hono().post('/', once(), pay).request('/', sent(), {}, context)
    expect(tasks).toHaveLength(1)
    await tasks[0]
  })
})

describe('a route that is idempotent twice', () => {
  it.each([
    ['at once', (_: Context, next: () => Promise<void>) => next()],
    ['with a validator between', validator('json', (value) => value)],
  ])('under one key, %s, is a mistake of the program', async (_, between) => {
    const events: IdempotencyEvent[] = []
    const onEvent = (event: IdempotencyEvent): number => events.push(event)
    const app = new Hono()
    app.use(once()).post('/', between as MiddlewareHandler, once({ onEvent }), pay)
    expect(await saidTwice(app)).toEqual(['500 /problems/misconfigured', '500 /problems/misconfigured'])
    const cause = expect.objectContaining({ message: expect.stringContaining('has this key') })
    expect([runs, events]).toEqual([0, Array(2).fill({ type: 'misconfigured', request: 'POST /', cause })])
  })

  it('under two scopes has a record of each', async () => {
    const app = new Hono()
    app.use(once()).post('/', once({ scope: 'other' }), pay)
    expect([await saidTwice(app), runs]).toEqual([['201', '201 replayed'], 1])
    const inner = new Hono().post('/', once({ scope: 'other' }), pay)
    expect(await saidBy(await inner.request('/', sent()))).toBe('201 replayed')
  })

  it('guards a request once if the outer one lets it pass', async () => {
    const app = new Hono()
    app.use(once({ methods: ['PATCH'] })).post('/', once(), pay)
    expect(await saidTwice(app)).toEqual(['201', '201 replayed'])
  })
})

describe('what a handler throws', () => {
  const appThat = (thrown: () => unknown, options: Partial<IdempotentOptions> = {}) =>
    new Hono()
      .post('/', once(options), () => {
        runs++
        throw thrown()
      })
      .onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text(error.message, 418)))

  it('leaves the key in doubt, and is answered by the app, once', async () => {
    const onError = vi.fn((_error: Error, c: Context) => c.text('', 418))
    const app = appThat(() => new Error('cut')).onError(onError)
    expect(await saidTwice(app)).toEqual(['418', '409 /problems/in-doubt'])
    expect([runs, onError.mock.calls.length]).toEqual([1, 1])
  })

  it('is an answer if it has a response', async () => {
    const app = appThat(() => new HTTPException(404, { message: 'no such account' }))
    const [first, second] = await twice(app, '/')
    expect([await saidBy(first), await saidBy(second), await second.text()]).toEqual([
      '404',
      '404 replayed',
      'no such account',
    ])
  })

  it('asks for the retry if it is a temporary failure', async () => {
    expect(await saidTwice(appThat(() => new HTTPException(503)))).toEqual(['503', '503'])
    expect(runs).toBe(2)
  })

  it('is an answer if the app says so', async () => {
    expect(await saidTwice(appThat(() => new Error('sold out'), { isAnswer: () => true }))).toEqual([
      '418',
      '418 replayed',
    ])
  })

  it('follows the rules for what throws', async () => {
    const endings = { thrown: () => 'abandon' as const }
    expect(await saidTwice(appThat(() => new Error('cut'), { endings }))).toEqual(['418', '418'])
  })

  it('is thrown on if it is no error', async () => {
    await expect(async () => appThat(() => 'text').request('/', sent())).rejects.toBe('text')
    expect(await saidBy(await appThat(() => 'text').request('/', sent()))).toBe('409 /problems/in-doubt')
  })

  it('is that of Hono for a handler that answers nothing, and leaves the key in doubt', async () => {
    const app = new Hono().post('/', once(), (async () => undefined) as never)
    app.onError((error, c) => c.text(error.message, 500))
    const [first, second] = await twice(app, '/')
    expect([first.status, await first.text()]).toEqual([
      500,
      expect.stringContaining('Did you forget to return a Response'),
    ])
    expect(await saidBy(second)).toBe('409 /problems/in-doubt')
  })

  it('while its body is read leaves the key in doubt, and is no half of an answer', async () => {
    const app = new Hono().post('/', once(), (c) => {
      const body = new ReadableStream({ pull: (controller) => controller.error(new Error('broken off')) })
      return c.body(body, 201, { location: '/1' })
    })
    app.onError((error, c) => c.text(error.message, 500))
    const [first, second] = await twice(app, '/')
    expect([first.status, await first.text(), first.headers.get('location')]).toEqual([500, 'broken off', null])
    expect(await saidBy(second)).toBe('409 /problems/in-doubt')
  })
})

describe('with a lock within', () => {
  const appOf = (wait: number) =>
    new Hono().post('/', once({ ttl: '600ms' }), locked({ locks, key: () => 'account', wait }), (c) =>
      c.text(String(++runs)),
    )

  it('a lock that is held is no answer to keep', async () => {
    const held = await locks.acquire('account')
    expect(await saidBy(await appOf(0).request('/', sent()))).toBe('409 /problems/contended')
    await held.release()
    expect(await saidTwice(appOf(0))).toEqual(['200', '200 replayed'])
  })

  it('a run that loses its lease while it waits for the lock has not been left by its client', async () => {
    await using _held = await locks.acquire('account')
    const app = appOf(5_000).onError(({ name }, c) => c.text(name, 500))
    const waiting = app.request('/', sent())
    await expect.poll(() => locks.isLocked('idempotency:tenant:k')).toBe(true)
    await locks.revoke('idempotency:tenant:k')
    expect(await (await waiting).text()).toBe('LeaseLostError')
    expect(await saidBy(await app.request('/', sent()))).toBe('409 /problems/in-doubt')
  })
})

describe('headers', () => {
  const around = () =>
    new Hono().use(async (c, next) => {
      c.header('x-before', 'yes')
      c.header('set-cookie', 'outer=1', { append: true })
      await next()
      c.header('x-after', 'yes')
    })
  const outerOf = ({ headers }: Response) => [
    headers.get('x-before'),
    headers.get('x-after'),
    ...headers.getSetCookie(),
  ]

  it('that outer middleware sets are there for the first answer, the replay and the refusal', async () => {
    const app = around().post('/', once(), (c) => {
      c.header('set-cookie', 'session=1', { append: true })
      return c.text('done', 201, { location: '/1' })
    })
    const [first, second] = await twice(app, '/')
    const refused = await app.request('/', sent({ body: '2' }))
    expect([first, second, refused].map(({ status }) => status)).toEqual([201, 201, 422])
    expect(outerOf(first)).toEqual(['yes', 'yes', 'outer=1', 'session=1'])
    expect(outerOf(second)).toEqual(['yes', 'yes', 'outer=1'])
    expect(outerOf(refused)).toEqual(['yes', 'yes', 'outer=1'])
    expect([first, second].map(({ headers }) => headers.get('location'))).toEqual(['/1', '/1'])
  })

  it('that the handler takes back are not there', async () => {
    const app = around().post('/', once(), (c) => {
      c.header('x-before', undefined)
      return c.text('done')
    })
    expect(outerOf(await app.request('/', sent()))).toEqual([null, 'yes', 'outer=1'])
  })

  it.each<[string, (c: Context) => void]>([
    [
      'on the response',
      ({ res }) => {
        res.headers.set('cache-control', 'public')
        res.headers.set('x-frame-options', 'DENY')
      },
    ],
    [
      'on the context',
      (c) => {
        c.header('cache-control', 'public')
        c.header('x-frame-options', 'DENY')
      },
    ],
  ])('that the handler has overruled stay overruled, though outer middleware had set them %s', async (_, set) => {
    const app = new Hono().use(async (c, next) => {
      set(c)
      await next()
    })
    app.post('/', once(), (c) => {
      c.header('cache-control', 'no-store')
      return c.text('done', 201)
    })
    app.post('/reused', once(), pay)
    const answers = [...(await twice(app, '/')), await app.request('/reused', sent())]
    expect(
      answers.map(({ status, headers }) => [status, headers.get('cache-control'), headers.get('x-frame-options')]),
    ).toEqual([
      [201, 'no-store', 'DENY'],
      [201, 'no-store', 'DENY'],
      [422, 'no-store', 'DENY'],
    ])
  })

  it('that describe what was made are on a replay only if they were on the first answer', async () => {
    const app = new Hono().use(async (c, next) => {
      c.header('link', '</style.css>; rel=preload')
      c.header('x-receipt', 'none')
      await next()
    })
    app.post('/', once({ headers: ['X-Receipt'] }), () => new Response('done'))
    const [first, second] = await twice(app, '/')
    for (const { headers } of [first, second])
      expect([headers.get('link'), headers.get('x-receipt')]).toEqual([null, null])
    expect(await saidBy(second)).toBe('200 replayed')
  })

  it('that scripts of other origins may read are those of both', async () => {
    const exposedBy = ({ headers }: Response) => headers.get('access-control-expose-headers')
    const app = new Hono().use(cors({ origin: '*', exposeHeaders: ['X-Total', 'ETag'] }))
    app.post('/', once(), (c) => c.text('done'))
    app.post('/narrow', once(), (c) => {
      c.header('access-control-expose-headers', 'X-Total')
      return c.text('done')
    })
    const init = (key?: string) => sent({ ...(key && { key }), headers: { origin: 'https://shop.example' } })
    const [first, second] = await twice(app, '/', init)
    expect([exposedBy(first), exposedBy(second)]).toEqual(['X-Total,ETag', 'Idempotency-Replayed, X-Total,ETag'])
    expect(exposedBy(await app.request('/narrow', init('narrow')))).toBe('X-Total')
  })

  it('are replayed with the text of the status', async () => {
    const app = around().post('/', once(), () => new Response('done', { status: 201, statusText: 'Made' }))
    expect((await twice(app, '/')).map(({ statusText }) => statusText)).toEqual(['Made', 'Made'])
  })

  it('of a run that was overtaken are those of its successor, and of outer middleware', async () => {
    let overtaken = false
    const app = around().post('/', once({ inDoubt: 'rerun' }), async (c): Promise<Response> => {
      if (overtaken) return c.text('second', 200)
      overtaken = true
      await locks.revoke(c.var.run?.key ?? '')
      await app.request('/', sent())
      return c.text('first', 201, { 'x-mine': 'first', location: '/first' })
    })
    const response = await app.request('/', sent())
    expect([await saidBy(response), await response.text(), ...outerOf(response)]).toEqual([
      ...['200 replayed', 'second', 'yes', 'yes', 'outer=1'],
    ])
    expect([response.headers.get('x-mine'), response.headers.get('location')]).toEqual([null, null])
  })
})

describe('a body', () => {
  const untouched: MiddlewareHandler = (_, next) => next()
  const chunked = (): RequestInit => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"amount":1}'))
        controller.close()
      },
    })
    return { ...sent(), body, duplex: 'half' } as RequestInit
  }
  const reads = async (c: Context): Promise<Response> => c.text(`${++runs} ${await c.req.text()}`)

  it.each([
    ['that nobody has read', untouched, sent],
    ['that came in chunks, and whose size was checked', bodyLimit({ maxSize: 100 }), chunked],
    ['that was validated', validator('json', (value) => value), sent],
  ] as const)('%s is read by the handler, and tells requests apart', async (_, earlier, init) => {
    const app = new Hono().use(earlier as MiddlewareHandler).post('/', once(), reads)
    const [first, second] = await twice(app, '/', () => init())
    expect([await first.text(), await saidBy(second)]).toEqual(['1 {"amount":1}', '200 replayed'])
    expect(await saidBy(await app.request('/', sent({ body: '{"amount":2}' })))).toBe('422 /problems/key-reused')
  })

  it('that is a form, and was parsed, is the same form when it comes again', async () => {
    const app = new Hono()
      .use(validator('form', (value) => value))
      .post('/', once(), async (c) => c.json(await c.req.parseBody()))
    const form = () => sent({ body: 'a=1&b=2', headers: { 'content-type': 'application/x-www-form-urlencoded' } })
    const [first, second] = await twice(app, '/', form)
    expect([await first.json(), await saidBy(second)]).toEqual([{ a: '1', b: '2' }, '200 replayed'])
  })

  it('that was read past Hono is a mistake of the program', async () => {
    const app = new Hono().use(async (c, next) => {
      await c.req.raw.text()
      await next()
    })
    app.post('/', once(), reads)
    expect(await saidBy(await app.request('/', sent()))).toBe('500 /problems/misconfigured')
  })

  it('that streams is the same when it is replayed', async () => {
    const app = new Hono().post('/', once(), (c) =>
      stream(c, async (out) => {
        for (const part of [0x00, 0xff, 0xfe]) {
          await out.write(Uint8Array.of(part))
          await new Promise(setImmediate)
        }
      }),
    )
    const [first, second] = await twice(app, '/')
    const bytes = await Promise.all([first, second].map((each) => each.arrayBuffer()))
    expect(bytes.map((each) => [...new Uint8Array(each)])).toEqual([
      [0, 255, 254],
      [0, 255, 254],
    ])
    expect(await saidBy(second)).toBe('200 replayed')
  })
})

describe('idempotent', () => {
  it.each([
    ['options', 7],
    ['locks', { locks: null }],
    ['scope', { scope: '' }],
    ['scope', { scope: undefined }],
    ['as', { as: '' }],
    ['isAnswer', { isAnswer: true }],
    ['keep', { keep: 'long' }],
    ['wait', { wait: -1 }],
    ['retries', { retries: 3 }],
  ])('refuses bad %s by name when it is made, also where the locker is that of the request', (option, wrong) => {
    for (const locksOption of [locks, () => locks]) {
      const options = typeof wrong === 'object' ? { locks: locksOption, scope: 'a', ...wrong } : wrong
      expect(() => idempotent(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', option }))
    }
  })
})
