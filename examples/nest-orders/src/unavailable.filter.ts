import { LeaseholdError } from '@leasehold/core'
import { RecordsUnavailableError } from '@leasehold/example-shop/records'
import { type ArgumentsHost, Catch, ServiceUnavailableException } from '@nestjs/common'
import { BaseExceptionFilter } from '@nestjs/core'

/**
 * A Redis that does not answer is a 503: nobody knows who has the lock. It is never a 409, which says that somebody has it. So is a
 * locker that has been closed, because the server shuts down.
 */
@Catch(LeaseholdError, RecordsUnavailableError)
export class UnavailableFilter extends BaseExceptionFilter {
  override catch(error: Error, host: ArgumentsHost): void {
    super.catch(isUnavailable(error) ? new ServiceUnavailableException('Try again', { cause: error }) : error, host)
  }
}

const isUnavailable = (error: Error): boolean =>
  !(error instanceof LeaseholdError) || error.code === 'STORE_UNAVAILABLE' || error.code === 'CLOSED'
