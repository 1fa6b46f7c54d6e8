import type { Lease } from '@leasehold/core'
import { type CouponDesk, couponDesk, couponKey, type IssuedCoupon } from '@leasehold/example-shop/coupons'
import { redisRecords } from '@leasehold/example-shop/redis-records'
import { currentLease, DistributedLock } from '@leasehold/nestjs'
import { Injectable } from '@nestjs/common'
import { RedisClient } from '../redis.module.ts'
import { coupons, dataPrefix, serverName } from '../settings.ts'

/** Coupons in limited numbers. The records are the shop's, shared with wherever else it runs. */
@Injectable()
export class CouponsService {
  private readonly desk: CouponDesk

  constructor({ transport }: RedisClient) {
    this.desk = couponDesk({ records: redisRecords(transport, dataPrefix), limits: coupons, server: serverName })
  }

  /** A user who has the coupon already, or comes when all are gone, needs no lock. */
  async issue(couponId: string, userId: string): Promise<IssuedCoupon> {
    return (await this.desk.answer(couponId, userId)) ?? this.issueNext(couponId, userId)
  }

  @DistributedLock({ key: couponKey, failureMessage: (couponId) => `Many people want ${couponId}; try again` })
  private async issueNext(couponId: string, userId: string): Promise<IssuedCoupon> {
    // The record checks the fence, so that a holder that was paused cannot overwrite what its successor wrote.
    return this.desk.issue(couponId, userId, currentLease() as Lease)
  }
}
