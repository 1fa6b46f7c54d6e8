import { AcquireTimeoutError, type Lease } from '@leasehold/core'
import { LeaseholdLocker } from '@leasehold/nestjs'
import { ConflictException, Injectable } from '@nestjs/common'
import { failureMessage, ttl, wait } from '../settings.ts'
import { charge } from './charge.ts'

/** Orders with locks taken by hand: each method has to do what the decorator of the second version does. */
@Injectable()
export class OrdersV1Service {
  constructor(private readonly locks: LeaseholdLocker) {}

  async process(userId: string, productId: string): Promise<string> {
    const lease = await this.acquire(`order:v1:${userId}:${productId}`)
    try {
      return await charge(userId, productId)
    } finally {
      await lease.release()
    }
  }

  private async acquire(key: string): Promise<Lease> {
    try {
      return await this.locks.acquire(key, { ttl, wait })
    } catch (error) {
      if (error instanceof AcquireTimeoutError) throw new ConflictException(failureMessage, { cause: error })
      throw error
    }
  }
}
