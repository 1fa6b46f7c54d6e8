import type { Backend } from './backend.ts'
import { testConcurrency } from './concurrency-test.ts'
import type { CouponDesk } from './coupons.ts'
import { idFrom, numberFrom, orderFrom, userIdFrom } from './input.ts'
import type { OrderDesk } from './orders.ts'
import { Problem, retryAfter } from './problem.ts'

export interface Call {
  /** The named parts of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** What was sent as JSON; undefined if nothing was. */
  readonly body: unknown
  /** Aborted when the client is gone: nobody needs to wait for a lock for its sake any more. */
  readonly signal: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly body: unknown
}

export interface Route {
  readonly method: 'GET' | 'POST'
  readonly path: RegExp
  readonly handle: (call: Call) => Promise<Answer>
}

interface Parts {
  readonly orders: OrderDesk
  readonly coupons: CouponDesk
  readonly backend: Backend
  readonly audit: boolean
}

/** The first to ask gets 201, everyone after that the same result with 200. */
const answer = (result: { readonly duplicate: boolean }): Answer => ({
  status: result.duplicate ? 200 : 201,
  body: result,
})

export const routes = ({ orders, coupons, backend, audit }: Parts): readonly Route[] => [
  {
    method: 'POST',
    path: /^\/api\/orders\/process$/,
    handle: async ({ body, signal }) => answer(await orders.process(orderFrom(body), signal)),
  },
  {
    method: 'GET',
    path: /^\/api\/orders\/test-concurrent$/,
    async handle({ query, signal }) {
      const orderId = idFrom('orderId', query.get('orderId'))
      const requests = numberFrom('requests', Number(query.get('requests') ?? 10), 200)
      return { status: 200, body: await testConcurrency(orders, orderId, requests, signal) }
    },
  },
  {
    method: 'POST',
    path: /^\/api\/coupons\/(?<id>[\w.-]{1,64})\/issue$/,
    handle: async ({ params, body, signal }) =>
      answer(await coupons.issue(params['id'] as string, userIdFrom(body), signal)),
  },
  {
    method: 'GET',
    path: /^\/api\/ledger$/,
    async handle() {
      if (!audit) throw new Problem(404, 'not-found', 'The ledger is only shown with AUDIT=on')
      return { status: 200, body: await backend.records.ledger() }
    },
  },
  {
    method: 'GET',
    path: /^\/healthz$/,
    async handle() {
      await backend.check().catch(() => {
        throw new Problem(503, 'store-unavailable', 'The store does not answer', retryAfter(2))
      })
      return { status: 200, body: { status: 'ok', store: backend.description } }
    },
  },
]
