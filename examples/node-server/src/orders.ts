import { setTimeout as pause } from 'node:timers/promises'
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
  /** True for everyone but the first who asked. */
  readonly duplicate: boolean
}

export interface OrderDesk {
  /**
   * Processes an order, or answers what came of it when it was.
   *
   * @throws Problem if the id was used for another order · whatever `withLock` and the records throw
   */
  process(order: Order, signal: AbortSignal): Promise<ProcessedOrder>
}

interface OrderDeskOptions {
  readonly locks: Locks
  readonly records: Records
  readonly server: string
  readonly workMs: number
}

export function orderDesk({ locks, records, server, workMs }: OrderDeskOptions): OrderDesk {
  return {
    async process(order, signal) {
      const key = `order:${order.orderId}`
      // An order that is done stays done: most repeats are answered without asking for the lock.
      const done = await records.peek(key)
      if (done !== null) return duplicateOf(done, order)

      return locks.withLock(key, { signal }, async (hold) => {
        const { fence } = hold
        const doneMeanwhile = await records.open(key, fence)
        if (doneMeanwhile !== null) return duplicateOf(doneMeanwhile, order)
        await pay(order, workMs, hold.signal)
        hold.assertValid()
        const result = { ...order, processedBy: server, fence }
        const entry = { type: 'effect', server, key, fence, effect: `charge:${order.orderId}` } as const
        await records.commit(key, JSON.stringify(result), entry)
        return { ...result, duplicate: false }
      })
    },
  }
}

/**
 * Stands for a call to a payment service. Such a service knows nothing of our fences, so a real call passes the order's
 * id as its idempotency key: a holder that was paused and went on too late may make it a second time.
 */
async function pay(_order: Order, workMs: number, signal: AbortSignal): Promise<void> {
  await pause(workMs, undefined, { signal }).catch((error: unknown) => {
    signal.throwIfAborted()
    throw error
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
