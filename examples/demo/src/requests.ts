import { readFileSync } from 'node:fs'

/** One line of `data/requests.jsonl`. */
export interface DemoRequest {
  /** When it is sent, in milliseconds from the start of the stream. */
  readonly at: number
  readonly path: string
  readonly body: { readonly userId: string; readonly orderId?: string }
}

export function readRequests(): readonly DemoRequest[] {
  const text = readFileSync(new URL('../data/requests.jsonl', import.meta.url), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as DemoRequest)
}

/** The required outcome of the requests, computed from the file alone. */
export interface Expected {
  /** Each of these must happen once. */
  readonly orders: ReadonlySet<string>
  /** Each of these users may get one coupon, until there are no more. */
  readonly coupons: ReadonlyMap<string, { readonly limit: number; readonly users: ReadonlySet<string> }>
}

export function expectedFrom(requests: readonly DemoRequest[], limits: Readonly<Record<string, number>>): Expected {
  const orders = new Set<string>()
  const coupons = new Map(Object.entries(limits).map(([id, limit]) => [id, { limit, users: new Set<string>() }]))
  for (const { path, body } of requests) {
    const couponId = /^\/api\/coupons\/([^/]+)\/issue$/.exec(path)?.[1]
    if (couponId !== undefined) coupons.get(couponId)?.users.add(body.userId)
    else if (body.orderId !== undefined) orders.add(body.orderId)
  }
  return { orders, coupons }
}
