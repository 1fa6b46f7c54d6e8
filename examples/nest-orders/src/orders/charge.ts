import { setTimeout as pause } from 'node:timers/promises'
import { workMs } from '../settings.ts'

/** Stands in for the work on an order: a payment, and what follows. */
export async function charge(userId: string, productId: string): Promise<string> {
  await pause(workMs)
  return `${productId} for ${userId}: processed`
}
