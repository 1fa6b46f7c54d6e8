import type { IssuedCoupon } from '@leasehold/example-shop/coupons'
import { Problem } from '@leasehold/example-shop/problem'
import { Body, Controller, HttpException, Param, Post } from '@nestjs/common'
import { CouponsService } from './coupons.service.ts'

@Controller('api/coupons')
export class CouponsController {
  constructor(private readonly coupons: CouponsService) {}

  @Post(':id/issue')
  async issue(@Param('id') couponId: string, @Body() { userId }: { readonly userId: string }): Promise<IssuedCoupon> {
    try {
      return await this.coupons.issue(couponId, userId)
    } catch (error) {
      // There is no such coupon, or none is left.
      if (error instanceof Problem) throw new HttpException(error.message, error.status, { cause: error })
      throw error
    }
  }
}
