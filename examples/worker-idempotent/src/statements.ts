import { env } from 'cloudflare:workers'
import { type Lease, LeaseLostError } from '@leasehold/core'
import { fenceHeader } from '@leasehold/core/fencing'
import { type DetachedLease, detach, resume } from '@leasehold/core/hand-over'
import { customerOf } from './customers.ts'
import { locks } from './locks.ts'
import { Problem } from './problem.ts'
import { renewedElsewhere } from './watchdog.ts'

/** Work that a request begins and a queue consumer finishes. */
export interface StatementJob {
  readonly customer: string
  readonly month: string
  /** It contains the lease's token, so whoever reads the queue can take the lock over. */
  readonly lease: DetachedLease
}

/** When to redeliver a message whose statement could not be written. */
const later = { delaySeconds: 30 } as const

const lockOf = (customer: string, month: string): string => `statement:${customer}:${month}`

/** Orders a statement: answers at once, and leaves the work to the queue. Meanwhile nobody else can order the same one. */
export async function orderStatement(request: Request, month: string): Promise<Response> {
  const customer = customerOf(request)
  // Once it is detached, leaving the block no longer frees the lock.
  await using lease = await locks.tryAcquire(lockOf(customer, month))
  if (!lease) throw new Problem(409, 'in-progress', 'This statement is being written')
  // The ttl is as long as the message may take.
  const detached = await detach(lease, { ttl: '10m' })
  try {
    await env.STATEMENTS.send({ customer, month, lease: detached })
  } catch (error) {
    // Nobody will ever resume the lease. If this fails, too, the lock is free when its ttl is over.
    await resume(locks, detached).then(
      (taken) => taken.release(),
      () => undefined,
    )
    throw error
  }
  return Response.json({ month, state: 'ordered' }, { status: 202 })
}

/**
 * Writes a statement. Queues sometimes deliver a message twice. While the first delivery is being handled, the second
 * is put off. A delivery that comes after the statement was written writes it again, which does no harm.
 */
export async function writeStatement(message: QueueMessage<StatementJob>): Promise<void> {
  const { customer, month } = message.body
  try {
    await using lease = await resumed(message.body)
    if (!lease) return message.retry(later)
    await put(customer, month, lease)
    message.ack()
  } catch (error) {
    console.error(error)
    message.retry(later)
  }
}

/**
 * Takes over the lease of a message. If the lease is gone, the message came late or again, and the lock is tried like
 * any other.
 */
async function resumed({ customer, month, lease }: StatementJob): Promise<Lease | null> {
  const options = { ttl: '2m', renew: renewedElsewhere, maxHold: '15m' } as const
  try {
    return await resume(locks, lease, options)
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error
    return locks.tryAcquire(lockOf(customer, month), options)
  }
}

/**
 * Writes the statement where it belongs. Writing it again does no harm, and the fence keeps a late writer from undoing
 * a newer one.
 */
async function put(customer: string, month: string, { fence, signal }: Lease): Promise<void> {
  const url = `${env.PAYMENTS_URL}/statements/${customer}/${month}`
  const { ok, status } = await fetch(url, { method: 'PUT', headers: { [fenceHeader]: String(fence) }, signal })
  if (!ok) throw new Error(`The statement was not written: ${status}`)
}
