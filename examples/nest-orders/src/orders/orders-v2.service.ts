import { DistributedLock } from '@leasehold/nestjs'
import { Injectable } from '@nestjs/common'
import { failureMessage, ttl, wait } from '../settings.ts'
import { charge } from './charge.ts'

/** Orders with locks taken by a decorator. */
@Injectable()
export class OrdersV2Service {
  @DistributedLock({ key: (userId, productId) => `order:v2:${userId}:${productId}`, ttl, wait, failureMessage })
  async process(userId: string, productId: string): Promise<string> {
    return charge(userId, productId)
  }
}
