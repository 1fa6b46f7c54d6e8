import type { LockContendedError } from '@leasehold/core/locked'
import { HttpException } from '@nestjs/common'

/** What a client is told unless the application provides a message: not the key, and nothing about the holder. */
const neutral = 'Somebody else holds the lock; try again'

/** Nest's name for the status, in the body of the answer. */
const names = { 409: 'Conflict', 423: 'Locked' } as const

/**
 * A guarded method was not called, because somebody held its lock until the wait was over. Nest answers an HTTP request
 * with its status and message. Elsewhere, such as in a job or a microservice, it is an ordinary error.
 */
export class LockContendedException extends HttpException {
  /** The lock's key. */
  readonly key: string
  /** Says how long the call waited, and for which holder: `cause.cause.waitedMs`, `cause.cause.holder`. */
  declare readonly cause: LockContendedError

  /** @param status 409 or 423 */
  constructor(error: LockContendedError, status: keyof typeof names) {
    // By default the message is the cause's, which tells operators who holds what.
    const message = error.message === error.cause.message ? neutral : error.message
    super(HttpException.createBody(message, names[status], status), status, { cause: error })
    this.key = error.key
  }
}
