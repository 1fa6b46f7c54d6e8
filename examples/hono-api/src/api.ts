import type { Locker } from '@leasehold/core'
import { createApp, type ShopOptions } from '@leasehold/example-shop/app'
import { idFrom, itemFrom, jsonFrom } from '@leasehold/example-shop/input'
import { orderDesk } from '@leasehold/example-shop/orders'
import { Problem } from '@leasehold/example-shop/problem'
import { idempotent } from '@leasehold/hono'
import type { Context, Hono } from 'hono'

export interface ApiOptions extends ShopOptions {
  readonly locks: Locker
}

/** The shop, with a route for clients that do not name their orders: their `Idempotency-Key` makes a retry safe. */
export function createApi(options: ApiOptions): Hono {
  const { locks } = options
  const orders = orderDesk(options)
  const app = createApp(options)
  app.post(
    '/api/orders',
    idempotent({
      locks,
      scope: userOf,
      isAnswer: (error) => error instanceof Problem,
      // A run that was cut off may have paid. The order is named after the key, so the next run finds the payment.
      inDoubt: 'rerun',
    }),
    async (c) => {
      // A request without a key does not get here, so there is a run.
      const orderId = c.var.run?.key as string
      const order = { orderId, userId: userOf(c), ...itemFrom(await jsonFrom(c.req)) }
      return c.json(await orders.process(order, c.req.raw.signal), 201)
    },
  )
  return app
}

/**
 * Stands in for a sign-in. A scope must be something that the client cannot choose: this header would come from your
 * gateway.
 */
const userOf = (c: Context): string => idFrom('X-User', c.req.header('x-user'))
