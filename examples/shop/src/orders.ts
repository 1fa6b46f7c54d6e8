import type { Locks } from './locks.ts'
import { Problem } from './problem.ts'
import type { Records } from './records.ts'

export interface Order {
  readonly orderId: string
  readonly userId: string
  readonly productId: string
  readonly quantity: number
}

export interface ProcessedOrder extends Order {
  readonly processedBy: string
  readonly fence: number
  /** False for the request that did the work, true for every repeat. */
  readonly duplicate: boolean
}

export interface OrderDesk {
  /**
   * Processes an order once. A repeat gets the first result.
   *
   * @throws Problem if the id was used for another order
   * @throws whatever `withLock` and the records throw
   */
  process(order: Order, signal: AbortSignal): Promise<ProcessedOrder>
}

interface OrderDeskOptions {
  readonly locks: Locks
  readonly records: Records
  readonly server: string
  readonly workMs?: number
}

export function orderDesk({ locks, records, server, workMs = 20 }: OrderDeskOptions): OrderDesk {
  return {
    async process(order, signal) {
      const key = `order:${order.orderId}`
      // A processed order stays processed, so most repeats need no lock.
      const done = await records.peek(key)
      if (done !== null) return duplicateOf(done, order)

      return locks.withLock(key, { signal }, async (lease) => {
        const { fence, signal } = lease
        const doneMeanwhile = await records.open(key, fence)
        if (doneMeanwhile !== null) return duplicateOf(doneMeanwhile, order)
        lease.assertValid()
        await pay(order, workMs, signal)
        const result = { ...order, processedBy: server, fence }
        const effect = { effect: `charge:${order.orderId}`, server, key, fence }
        lease.assertValid()
        await records.commit(key, JSON.stringify(result), effect)
        return { ...result, duplicate: false }
      })
    },
  }
}

/**
 * Stands in for a call to a payment service. That service does not check our fences, and a holder that was paused may
 * resume too late and call it a second time. So a real call sends the order's id as the idempotency key.
 */
function pay(_order: Order, workMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, workMs)
    signal.addEventListener('abort', onAbort)
  })
}

function duplicateOf(record: string, order: Order): ProcessedOrder {
  const result = JSON.parse(record) as Omit<ProcessedOrder, 'duplicate'>
  for (const field of ['userId', 'productId', 'quantity'] as const) {
    if (result[field] === order[field]) continue
    throw new Problem(422, 'order-id-reused', `Order ${order.orderId} was processed with another ${field}`)
  }
  return { ...result, duplicate: true }
}
