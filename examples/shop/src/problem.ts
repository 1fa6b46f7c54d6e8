import {
  AcquireTimeoutError,
  InvalidOptionError,
  LeaseholdError,
  LeaseLostError,
  StoreUnavailableError,
} from '@leasehold/core'
import { RecordsUnavailableError, SupersededError } from './records.ts'

/** An error as the client sees it, in the form of RFC 9457. */
export class Problem extends Error {
  readonly status: number
  readonly type: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, type: string, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail)
    this.name = 'Problem'
    this.status = status
    this.type = type
    this.headers = headers
  }
}

/** Tells the client to retry after this many seconds. */
const retryAfter = (seconds: number): Readonly<Record<string, string>> => ({ 'retry-after': String(seconds) })

/** Turns an error into an answer. "Somebody holds it" and "the store is down" are different answers. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof AcquireTimeoutError) {
    return new Problem(409, 'contended', 'Another request holds the lock; ask again', retryAfter(1))
  }
  if (error instanceof StoreUnavailableError || error instanceof RecordsUnavailableError) {
    const detail = 'The store does not answer; the request may have been carried out'
    return new Problem(503, 'store-unavailable', detail, retryAfter(2))
  }
  if (error instanceof InvalidOptionError) return new Problem(400, 'invalid-request', error.message)
  if (error instanceof LeaseLostError || error instanceof SupersededError) {
    const detail = 'The lock was lost during the work; ask again for the outcome'
    return new Problem(500, 'lease-lost', detail, retryAfter(1))
  }
  if (error instanceof LeaseholdError && error.code === 'CLOSED') {
    return new Problem(503, 'shutting-down', 'This server is shutting down; ask another', retryAfter(1))
  }
  console.error(error)
  return new Problem(500, 'internal', 'An unexpected error; it is in the log')
}
