import type { LeaseholdError } from '@leasehold/core'
import { HttpException, HttpStatus } from '@nestjs/common'

/**
 * A guarded method was not called, because the application is closing: the call waited for its lock, or came too late.
 * Nest answers an HTTP request with 503, so that its client tries another instance.
 */
export class ApplicationClosingException extends HttpException {
  /** The error of the locker, with the code `CLOSED`. */
  declare readonly cause: LeaseholdError

  constructor(error: LeaseholdError) {
    const status = HttpStatus.SERVICE_UNAVAILABLE
    const body = HttpException.createBody('The application is closing; try again', 'Service Unavailable', status)
    super(body, status, { cause: error })
  }
}
