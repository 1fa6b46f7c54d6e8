import { locked } from '@leasehold/hono'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { methodNotAllowed } from 'hono/method-not-allowed'
import type { ContentfulStatusCode, StatusCode } from 'hono/utils/http-status'
import { testConcurrency } from './concurrency-test.ts'
import { couponDesk, couponKey } from './coupons.ts'
import { idFrom, jsonFrom, numberFrom, orderFrom, userIdFrom } from './input.ts'
import type { Locks } from './locks.ts'
import { orderDesk } from './orders.ts'
import { Problem, problemOf } from './problem.ts'
import type { Records } from './records.ts'

export interface ShopOptions {
  /** `createLocker()`, over any store. */
  readonly locks: Locks
  /** In the same store as the locks. */
  readonly records: Records
  /** How many of each coupon there are. */
  readonly limits: ReadonlyMap<string, number>
  /** Names this server in its answers. */
  readonly server: string
  /** How long the stand-in for a payment takes, in milliseconds; default 20. */
  readonly workMs?: number
}

/** An order has a few hundred bytes. */
const mostBytes = 16_384

/** The shop's API, the same on every runtime. Creating it does no I/O, so a Worker may do so at module scope. */
export function createApp(options: ShopOptions): Hono {
  const orders = orderDesk(options)
  const coupons = couponDesk(options)

  const app = new Hono()
  app.onError((error, c) => {
    // The client has left: nobody reads this answer.
    if (c.req.raw.signal.aborted) return c.body(null, 499 as StatusCode)
    return problemAnswer(c, problemOf(error))
  })
  app.notFound((c) => problemAnswer(c, new Problem(404, 'not-found', `There is nothing at ${c.req.path}`)))
  app.use(
    methodNotAllowed({ app, onMethodNotAllowed: refuseMethod }),
    bodyLimit({ maxSize: mostBytes, onError: tooLong }),
  )

  // The first request gets 201. Every repeat gets the same result with 200.
  app.post('/api/orders/process', async (c) => {
    const order = orderFrom(await jsonFrom(c.req))
    const result = await orders.process(order, c.req.raw.signal)
    return c.json(result, result.duplicate ? 200 : 201)
  })
  app.get('/api/orders/test-concurrent', async (c) => {
    const orderId = idFrom('orderId', c.req.query('orderId'))
    const requests = numberFrom('requests', Number(c.req.query('requests') ?? 10), 200)
    return c.json(await testConcurrency(orders, orderId, requests, c.req.raw.signal))
  })
  app.post(
    '/api/coupons/:id/issue',
    async (c, next) => {
      const answer = await coupons.answer(c.req.param('id'), userIdFrom(await jsonFrom(c.req)))
      return answer ? c.json(answer) : next()
    },
    locked({ locks: options.locks, key: (c) => couponKey(c.req.param('id') as string) }),
    async (c) => {
      const userId = userIdFrom(await jsonFrom(c.req))
      const result = await coupons.issue(c.req.param('id'), userId, c.var.lease)
      return c.json(result, result.duplicate ? 200 : 201)
    },
  )
  return app
}

function problemAnswer(c: Context, { status, type, message: detail, headers }: Problem): Response {
  const body = { type: `/problems/${type}`, status, detail }
  return c.json(body, status as ContentfulStatusCode, { 'content-type': 'application/problem+json', ...headers })
}

function refuseMethod(c: Context, methods: readonly string[]): Response {
  const allow = methods.join(', ')
  return problemAnswer(c, new Problem(405, 'method-not-allowed', `${c.req.path} takes ${allow}`, { allow }))
}

function tooLong(): never {
  throw new Problem(413, 'too-long', `A request may have at most ${mostBytes} bytes`)
}
