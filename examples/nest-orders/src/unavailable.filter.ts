import { StoreUnavailableError } from '@leasehold/core'
import { RecordsUnavailableError } from '@leasehold/example-shop/records'
import { type ArgumentsHost, Catch, ServiceUnavailableException } from '@nestjs/common'
import { BaseExceptionFilter } from '@nestjs/core'

/** A Redis that does not answer is a 503: nobody knows who has the lock. It is never a 409, which says that somebody has it. */
@Catch(StoreUnavailableError, RecordsUnavailableError)
export class UnavailableFilter extends BaseExceptionFilter {
  override catch(error: Error, host: ArgumentsHost): void {
    super.catch(new ServiceUnavailableException('The database does not answer; try again', { cause: error }), host)
  }
}
