import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { ContentfulStatusCode, StatusCode } from 'hono/utils/http-status'
import { testConcurrency } from './concurrency-test.ts'
import { couponDesk } from './coupons.ts'
import { idFrom, jsonFrom, numberFrom, orderFrom, userIdFrom } from './input.ts'
import type { Locks } from './locks.ts'
import { orderDesk } from './orders.ts'
import { Problem, problemOf } from './problem.ts'
import type { Records } from './records.ts'

export interface AppOptions {
  /** `createLocker()`, over whatever reaches the Redis. */
  readonly locks: Locks
  /** In the same Redis. */
  readonly records: Records
  /** How many there are of each coupon. */
  readonly limits: ReadonlyMap<string, number>
  /** Names this server in its answers. */
  readonly server: string
  /** How long the stand-in for a payment takes, in milliseconds; default 20. */
  readonly workMs?: number
}

/** An order is some hundred bytes long. */
const mostBytes = 16_384

/** The API, the same on every runtime. Making it does no I/O, so it may be made at the module scope of a Worker. */
export function createApp(options: AppOptions): Hono {
  const orders = orderDesk(options)
  const coupons = couponDesk(options)
  const tooLong = (): never => {
    throw new Problem(413, 'too-long', `A request may have ${mostBytes} bytes`)
  }

  const app = new Hono()
  app.onError((error, c) => {
    // Nobody is there any more to be answered.
    if (c.req.raw.signal.aborted) return c.body(null, 499 as StatusCode)
    const { status, type, message: detail, headers } = problemOf(error)
    const body = { type: `/problems/${type}`, status, detail }
    return c.json(body, status as ContentfulStatusCode, { 'content-type': 'application/problem+json', ...headers })
  })
  app.notFound((c) => {
    throw new Problem(404, 'not-found', `There is nothing at ${c.req.method} ${c.req.path}`)
  })
  app.use(bodyLimit({ maxSize: mostBytes, onError: tooLong }))

  // The first to ask gets 201, everyone after that the same result with 200.
  app.post('/api/orders/process', async (c) => {
    const order = orderFrom(await jsonFrom(c.req.raw))
    const result = await orders.process(order, c.req.raw.signal)
    return c.json(result, result.duplicate ? 200 : 201)
  })
  app.get('/api/orders/test-concurrent', async (c) => {
    const orderId = idFrom('orderId', c.req.query('orderId'))
    const requests = numberFrom('requests', Number(c.req.query('requests') ?? 10), 200)
    return c.json(await testConcurrency(orders, orderId, requests, c.req.raw.signal))
  })
  app.post('/api/coupons/:id/issue', async (c) => {
    const userId = userIdFrom(await jsonFrom(c.req.raw))
    const result = await coupons.issue(c.req.param('id'), userId, c.req.raw.signal)
    return c.json(result, result.duplicate ? 200 : 201)
  })
  return app
}
