import type { Order, OrderDesk } from './orders.ts'

/** The outcome of many requests for one order. */
export interface ConcurrencyReport {
  readonly orderId: string
  readonly requests: number
  /** How many did the work: one, or none if the order was processed before. */
  readonly worked: number
  readonly duplicates: number
  /** How many failed, by the name of their error. */
  readonly failed: Readonly<Record<string, number>>
}

/** Processes one order many times at once within this server. Exactly one of them should do the work. */
export async function testConcurrency(
  orders: OrderDesk,
  orderId: string,
  requests: number,
  signal: AbortSignal,
): Promise<ConcurrencyReport> {
  const order: Order = { orderId, userId: 'tester', productId: 'test', quantity: 1 }
  const results = await Promise.allSettled(Array.from({ length: requests }, () => orders.process(order, signal)))
  const failed: Record<string, number> = {}
  let worked = 0
  let duplicates = 0
  for (const result of results) {
    if (result.status === 'rejected') {
      const name = result.reason instanceof Error ? result.reason.name : String(result.reason)
      failed[name] = (failed[name] ?? 0) + 1
    } else if (result.value.duplicate) duplicates++
    else worked++
  }
  return { orderId, requests, worked, duplicates, failed }
}
