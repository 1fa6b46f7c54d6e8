import { AcquireTimeoutError, createLocker, type Lease, type Locker } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { stream } from 'hono/streaming'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type LockedOptions, locked } from './index.ts'

let locks: Locker
beforeEach(() => {
  const store = memoryStore()
  locks = createLocker({ store, notifier: memoryNotifier(store) })
})
afterEach(() => locks.close({ grace: 0 }))

const order = (c: Context): string => `order:${c.req.param('id')}`
const isHeld = (): Promise<boolean> => locks.isLocked('order:1')

/** A route under a lock. */
const routeOf = (options: Partial<LockedOptions>, handler: (c: Context<{ Variables: { lease: Lease } }>) => unknown) =>
  new Hono().all('/orders/:id', locked({ locks, key: order, wait: 0, ...options }), async (c) => {
    return (await handler(c)) as Response
  })

const problemOf = async (response: Response) => {
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  const { type, status } = (await response.json()) as { type: string; status: number }
  return { type, status, retryAfter: response.headers.get('retry-after') }
}

describe('a route under a lock', () => {
  it('has the lease on its context, and gives it back before the response leaves', async () => {
    const app = routeOf({}, async (c) => c.json({ key: c.var.lease.key, held: await isHeld() }))
    const response = await app.request('/orders/1')
    expect(await isHeld()).toBe(false)
    expect(await response.json()).toEqual({ key: 'order:1', held: true })
  })

  it('runs one request for a key at a time, 20 at once, and lets other keys pass', async () => {
    let inside = 0
    const seen: number[] = []
    const app = routeOf({ wait: '5s' }, async (c) => {
      seen.push(++inside)
      await new Promise(setImmediate)
      inside--
      return c.text(String(c.var.lease.fence))
    })
    const other = await locks.acquire('order:2')
    const responses = await Promise.all(Array.from({ length: 20 }, () => app.request('/orders/1')))
    const fences = await Promise.all(responses.map((response) => response.text()))
    expect(seen).toEqual(Array(20).fill(1))
    expect(new Set(fences).size).toBe(20)
    await other.release()
  })

  it('nests, each lease under its own name', async () => {
    const app = new Hono().get(
      '/',
      locked({ locks, key: async () => 'order:1' }),
      locked({ locks, key: () => 'stock:1', as: 'stock' }),
      (c) => c.text(`${c.var.lease.key} ${c.var.stock.key}`),
    )
    expect(await (await app.request('/')).text()).toBe('order:1 stock:1')
    expect([await isHeld(), await locks.isLocked('stock:1')]).toEqual([false, false])
  })

  it('takes the locker of the request', async () => {
    const app = new Hono<{ Bindings: { locks: Locker } }>()
    app.get('/', locked({ locks: (c) => c.env.locks, key: () => 'k' }), (c) => c.text(String(c.var.lease.fence > 0)))
    expect(await (await app.request('/', {}, { locks })).text()).toBe('true')
  })

  it('works without a signal of the request', async () => {
    const app = routeOf({}, (c) => c.text('done'))
    const request = { url: 'http://localhost/orders/1', method: 'GET', headers: new Headers() } as Request
    expect((await app.fetch(request)).status).toBe(200)
  })
})

describe('a lock that is held', () => {
  let held: Lease
  beforeEach(async () => {
    held = await locks.acquire('order:1')
  })

  it('is a 409 that says when to ask again, and the handler does not run', async () => {
    const handler = vi.fn()
    expect(await problemOf(await routeOf({}, handler).request('/orders/1'))).toEqual({
      type: '/problems/contended',
      status: 409,
      retryAfter: '1',
    })
    expect(handler).not.toHaveBeenCalled()
  })

  it('is a 423 by option, with a type of your own', async () => {
    const app = routeOf({ onContended: 423, problems: 'https://shop.example/' }, vi.fn())
    expect(await problemOf(await app.request('/orders/1'))).toMatchObject({
      type: 'https://shop.example/contended',
      status: 423,
    })
  })

  it.each([
    [0, '1'],
    [1_600, '2'],
    [60_000, '10'],
  ])('after %i ms of waiting in vain says to come back in %s s', async (waitedMs, seconds) => {
    const error = new AcquireTimeoutError('order:1', { waitedMs, commands: 1, lateGrants: 0 })
    const app = routeOf({ locks: { withLock: () => Promise.reject(error) } }, vi.fn())
    expect((await problemOf(await app.request('/orders/1'))).retryAfter).toBe(seconds)
  })

  it('is what a function makes of it', async () => {
    const app = routeOf({ onContended: async (c, { key }) => c.text(`busy: ${key}`, 503) }, vi.fn())
    const response = await app.request('/orders/1')
    expect([response.status, await response.text()]).toEqual([503, 'busy: order:1'])
  })

  it('keeps the headers of outer middleware', async () => {
    const app = new Hono()
    app.use(async (c, next) => {
      c.header('x-before', 'yes')
      await next()
      c.header('x-after', 'yes')
    })
    app.get('/', locked({ locks, key: () => 'order:1', wait: 0 }), (c) => c.text(''))
    const { status, headers } = await app.request('/')
    expect([status, headers.get('x-before'), headers.get('x-after')]).toEqual([409, 'yes', 'yes'])
  })

  it.each([
    ['an error', new DOMException('gone', 'AbortError')],
    ['a text, as on Node', 'Client connection prematurely closed.'],
  ])('ends the wait of a client that leaves, for %s, and leaves nothing behind', async (_, reason) => {
    const onError = vi.fn((_error: Error, c: Context) => c.text('', 500))
    const handler = vi.fn()
    const client = new AbortController()
    const app = routeOf({ wait: '5s' }, handler).onError(onError)
    const answer = app.request(new Request('http://localhost/orders/1', { signal: client.signal }))
    await expect.poll(async () => (await locks.inspect('order:1')).held).toBe(true)
    client.abort(reason)
    expect((await answer).status).toBe(499)
    await held.release()
    expect([await isHeld(), handler.mock.calls, onError.mock.calls]).toEqual([false, [], []])
  })
})

describe('a handler that throws', () => {
  it.each([
    ['an error', new Error('broken'), 500],
    ['an answer', new HTTPException(418, { message: 'teapot' }), 418],
  ])('%s has its lock given back, and is answered as ever', async (_, error, status) => {
    vi.spyOn(console, 'error').mockReturnValue(undefined)
    const app = routeOf({}, () => Promise.reject(error))
    expect((await app.request('/orders/1')).status).toBe(status)
    expect(await isHeld()).toBe(false)
  })

  it('something that is no error has its lock given back, too', async () => {
    const app = routeOf({}, () => Promise.reject('text'))
    await expect(async () => app.request('/orders/1')).rejects.toBe('text')
    expect(await isHeld()).toBe(false)
  })
})

describe('a lease that is lost before the response is there', () => {
  const pay = async (c: Context): Promise<Response> => {
    await locks.revoke('order:1')
    return c.text('paid', 201, { location: '/payments/1' })
  }

  it('is told in a header: what the handler has done it has done', async () => {
    const response = await routeOf({}, pay).request('/orders/1')
    expect([response.status, await response.text(), response.headers.get('lease-lost')]).toEqual([201, 'paid', 'gone'])
    expect(response.headers.get('location')).toBe('/payments/1')
  })

  it('is told even if it shows at the release only', async () => {
    const store = memoryStore()
    locks = createLocker({ store })
    const app = routeOf({}, async (c) => {
      await createLocker({ store }).revoke('order:1')
      return c.text('paid')
    })
    expect((await app.request('/orders/1')).headers.get('lease-lost')).toBe('gone')
  })

  it('has the answer of `onLost`, and nothing of the handler’s', async () => {
    const onLost: LockedOptions['onLost'] = async (c, { reason }, { status }) => c.text(`${reason} ${status}`, 500)
    const response = await routeOf({ onLost }, pay).request('/orders/1')
    expect([response.status, await response.text(), response.headers.get('location')]).toEqual([500, 'gone 201', null])
  })

  it('is an error like any other where the handler heeds it', async () => {
    const app = routeOf({}, async ({ var: { lease } }) => {
      await locks.revoke('order:1')
      lease.assertValid()
    }).onError((error, c) => c.text(error.name, 500))
    const response = await app.request('/orders/1')
    expect([response.status, await response.text(), response.headers.get('lease-lost')]).toEqual([
      500,
      'LeaseLostError',
      'gone',
    ])
  })
})

it('a body that still streams is not covered: the lease says that it was released', async () => {
  const app = routeOf({}, (c) =>
    stream(c, async (out) => {
      await expect.poll(isHeld).toBe(false)
      await out.write(
        (await new Promise((resolve) => resolve(c.var.lease.assertValid())).catch(({ code }) => code)) as string,
      )
    }),
  )
  expect(await (await app.request('/orders/1')).text()).toBe('LEASE_RELEASED')
})

describe('what a request names', () => {
  it.each([['x'.repeat(600)], ['']])('is a 400 if no lock can have it for a key', async (key) => {
    expect(await problemOf(await routeOf({ key: () => key }, vi.fn()).request('/orders/1'))).toEqual({
      type: '/problems/not-lockable',
      status: 400,
      retryAfter: null,
    })
  })

  it('is a mistake of the program if it is no text', async () => {
    const app = routeOf({ key: () => undefined as unknown as string }, vi.fn())
    app.onError((error, c) => c.json(error))
    expect(await (await app.request('/orders/1')).json()).toMatchObject({ code: 'INVALID_OPTION', option: 'key' })
  })

  it('may be refused by the function that names the key', async () => {
    const key = (): never => {
      throw new HTTPException(404)
    }
    expect((await routeOf({ key }, vi.fn()).request('/orders/1')).status).toBe(404)
  })
})

it('a locker that is closed is a 503', async () => {
  await locks.close()
  expect(await problemOf(await routeOf({}, vi.fn()).request('/orders/1'))).toEqual({
    type: '/problems/shutting-down',
    status: 503,
    retryAfter: '1',
  })
})

it('a Worker goes on until the lock is given back, and no failure of that is its concern', async () => {
  const tasks: Promise<unknown>[] = []
  const context = {
    waitUntil: (task: Promise<unknown>) => tasks.push(task),
    passThroughOnException: () => undefined,
    props: {},
  }
  const held = await locks.acquire('order:1')
  await routeOf({}, vi.fn()).request('/orders/1', {}, {}, context)
  await held.release()
  await routeOf({}, (c) => c.text('')).request('/orders/1', {}, {}, context)
  expect(await Promise.all(tasks)).toEqual([undefined, undefined])
  expect(await isHeld()).toBe(false)
})

describe('locked', () => {
  it.each([
    ['options', null],
    ['locks', { locks: undefined }],
    ['locks', { locks: {} }],
    ['key', { key: 'order' }],
    ['as', { as: '' }],
    ['onContended', { onContended: 429 }],
    ['onLost', { onLost: 500 }],
    ['problems', { problems: 7 }],
    ['signal', { signal: AbortSignal.abort() }],
    ['wait', { wait: -1 }],
    ['ttl', { ttl: 'soon' }],
    ['retries', { retries: 3 }],
  ])('refuses bad %s by name when it is made', (option, wrong) => {
    const options = wrong && { locks, key: order, ...wrong }
    expect(() => locked(options as unknown as LockedOptions)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', option }),
    )
  })
})
