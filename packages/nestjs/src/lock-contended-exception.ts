import type { LockContendedError } from '@leasehold/core/locked'
import { HttpException } from '@nestjs/common'

/** What Nest calls the status, in the body of the answer. */
const names = { 409: 'Conflict', 423: 'Locked' } as const

/**
 * A guarded method was not called, because somebody held its lock until the wait was over. Nest answers an HTTP request with its
 * status and message. Elsewhere, such as in a job or a microservice, it is an error like any other.
 */
export class LockContendedException extends HttpException {
  /** The lock's key. */
  readonly key: string
  /** Says how long the call waited: `cause.cause.waitedMs`. */
  declare readonly cause: LockContendedError

  /** @param status 409 or 423 */
  constructor(error: LockContendedError, status: keyof typeof names) {
    super(HttpException.createBody(error.message, names[status], status), status, { cause: error })
    this.key = error.key
  }
}
