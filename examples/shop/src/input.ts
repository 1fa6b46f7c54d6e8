import type { HonoRequest } from 'hono'
import type { Order } from './orders.ts'
import { Problem } from './problem.ts'

/** The form of an id, which becomes part of a lock's key. */
const idForm = /^[\w.-]{1,64}$/

/** May be called more than once: Hono caches the body. @throws Problem if the body has another type, or is not JSON */
export async function jsonFrom(request: HonoRequest): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.header('content-type') ?? '')) {
    throw new Problem(415, 'not-json', 'Send the request as application/json')
  }
  const body = await request.text()
  try {
    return JSON.parse(body)
  } catch {
    throw invalid('The body is not JSON')
  }
}

/** @throws Problem that names the wrong field */
export function orderFrom(body: unknown): Order {
  const { orderId, userId } = objectFrom(body)
  return { orderId: idFrom('orderId', orderId), userId: idFrom('userId', userId), ...itemFrom(body) }
}

/** @throws Problem that names the wrong field */
export function itemFrom(body: unknown): Pick<Order, 'productId' | 'quantity'> {
  const { productId, quantity } = objectFrom(body)
  return { productId: idFrom('productId', productId), quantity: numberFrom('quantity', quantity, 1_000) }
}

export const userIdFrom = (body: unknown): string => idFrom('userId', objectFrom(body)['userId'])

export function idFrom(name: string, value: unknown): string {
  if (typeof value === 'string' && idForm.test(value)) return value
  throw invalid(`"${name}" must be 1 to 64 letters, digits, or one of . _ -`)
}

export function numberFrom(name: string, value: unknown, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value
  throw invalid(`"${name}" must be a whole number from 1 to ${most}`)
}

function objectFrom(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body === 'object' && body !== null) return body as Record<string, unknown>
  throw invalid('The body must be a JSON object')
}

const invalid = (detail: string): Problem => new Problem(400, 'invalid-request', detail)
