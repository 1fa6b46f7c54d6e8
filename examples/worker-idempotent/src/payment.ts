import { env } from 'cloudflare:workers'
import { Problem, retryAfter } from './problem.ts'
import type { Answer } from './stored-answers.ts'

export interface Payment {
  /** In the smallest unit of the currency, such as cents. */
  readonly amount: number
  readonly currency: string
}

/**
 * The client's key for this payment. Keys of different customers must not collide: in a service with accounts, prefix the key
 * with the account.
 */
export function idempotencyKey(request: Request): string {
  const key = request.headers.get('idempotency-key') ?? ''
  if (/^[\w.:-]{1,128}$/.test(key)) return key
  throw new Problem(400, 'no-key', 'Send an Idempotency-Key of 1 to 128 letters, digits, or one of . _ : -')
}

export function paymentFrom(body: string): Payment {
  const { amount, currency } = objectFrom(body)
  if (!Number.isSafeInteger(amount) || (amount as number) < 1) throw invalid('"amount" must be a whole number above 0')
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)) throw invalid('"currency" must be like "EUR"')
  return { amount: amount as number, currency }
}

/**
 * Asks the payment service to pay. Its answer is kept, whether it took the money or declined. If it fails, there is no answer,
 * and the next try asks again.
 *
 * The service gets our key as its own idempotency key: a Worker that was cut off may have asked already, and no lock undoes that.
 *
 * @param signal aborted when the lock is lost
 */
export async function payFor(payment: Payment, key: string, signal: AbortSignal): Promise<Answer> {
  try {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const response = await fetch(env.PAYMENTS_URL, { method: 'POST', headers, body: JSON.stringify(payment), signal })
    const body = await response.text()
    if (response.status < 500) return { status: response.status, body }
  } catch {
    // In workerd, network errors have no class of their own. A lost lock is handled below.
    signal.throwIfAborted()
  }
  throw new Problem(502, 'payment-service', 'The payment service did not answer; try again', retryAfter(2))
}

function objectFrom(body: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(body)) as Record<string, unknown>
  } catch {
    throw invalid('The body must be JSON')
  }
}

const invalid = (detail: string): Problem => new Problem(400, 'invalid-request', detail)
