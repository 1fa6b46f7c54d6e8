import { env } from 'cloudflare:workers'
import { idempotent } from '@leasehold/idempotency'
import { customerOf } from './customers.ts'
import { objectFrom } from './input.ts'
import { locks } from './locks.ts'
import { Problem, retryAfter } from './problem.ts'

interface Payment {
  /** In the smallest unit of the currency, such as cents. */
  readonly amount: number
  readonly currency: string
}

/** How long the payment service may take, in milliseconds. */
const longestPaymentMs = 10_000

const once = idempotent({
  locks,
  scope: customerOf,
  // A retry that comes during the payment waits for its outcome.
  wait: '2s',
  // Whether to pay again if a Worker died and it is unknown what it did.
  inDoubt: env.IN_DOUBT ?? 'reject',
  endings: {
    // The payment service was not called. A client that corrects the request may keep the key.
    400: 'abandon',
    // Our own `Problem` says that nothing happened, or that the service, which has our key, will not repeat what
    // happened.
    thrown: (error) => (error instanceof Problem ? 'abandon' : 'leave'),
  },
  // These events show in no answer, so somebody has to watch them.
  onEvent: (event) => console.warn(JSON.stringify(event)),
})

/** Pays once for each `Idempotency-Key` of a customer. */
export const pay = (request: Request): Promise<Response> =>
  once(request, async (guarded, { run }) => {
    // POST is guarded, so there is a run.
    if (!run) throw new Problem(405, 'method-not-allowed', 'Send a POST', { allow: 'POST' })
    const payment = paymentFrom(await guarded.text())
    run.assertValid()
    return payFor(payment, run.key, guarded.signal)
  })

function paymentFrom(body: string): Payment {
  const { amount, currency } = objectFrom(body)
  if (!Number.isSafeInteger(amount) || (amount as number) < 1) throw invalid('"amount" must be a whole number above 0')
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)) throw invalid('"currency" must be like "EUR"')
  return { amount: amount as number, currency }
}

/**
 * Asks the payment service to pay. Its answer is recorded, whether it took the money or declined. If it fails, nothing
 * is recorded, and the next try asks again.
 *
 * The service gets our key as its own idempotency key: a Worker that was cut off may have asked already, and no lock undoes that.
 *
 * @param signal aborted when the lease is lost
 */
async function payFor(payment: Payment, key: string, signal: AbortSignal): Promise<Response> {
  try {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    // A service that never answers would keep the lease, and the client, forever.
    const orTimeout = AbortSignal.any([signal, AbortSignal.timeout(longestPaymentMs)])
    const init = { method: 'POST', headers, body: JSON.stringify(payment), signal: orTimeout }
    const { status, body } = await fetch(`${env.PAYMENTS_URL}/payments`, init)
    if (status < 500) return new Response(body, { status, headers: { 'content-type': 'application/json' } })
  } catch {
    // In workerd, network errors have no class of their own.
    signal.throwIfAborted()
  }
  throw new Problem(502, 'payment-service', 'The payment service did not answer; try again', retryAfter(2))
}

const invalid = (detail: string): Problem => new Problem(400, 'invalid-request', detail)
