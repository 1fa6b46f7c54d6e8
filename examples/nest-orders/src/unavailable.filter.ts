import { LeaseholdError } from '@leasehold/core'
import { RecordsUnavailableError } from '@leasehold/example-shop/records'
import { type ArgumentsHost, Catch, ServiceUnavailableException } from '@nestjs/common'
import { BaseExceptionFilter } from '@nestjs/core'

/**
 * A Redis that does not answer is a 503: it is unknown who has the lock. It is never a 409, which says that somebody
 * has it. A locker that is closed, because the server is shutting down, is a 503, too.
 */
@Catch(LeaseholdError, RecordsUnavailableError)
export class UnavailableFilter extends BaseExceptionFilter {
  override catch(error: Error, host: ArgumentsHost): void {
    super.catch(isUnavailable(error) ? new ServiceUnavailableException('Try again', { cause: error }) : error, host)
  }
}

const isUnavailable = (error: Error): boolean =>
  !(error instanceof LeaseholdError) || error.code === 'STORE_UNAVAILABLE' || error.code === 'CLOSED'
