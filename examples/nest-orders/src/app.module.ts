import { LeaseholdModule } from '@leasehold/nestjs'
import { Module } from '@nestjs/common'
import { CouponsModule } from './coupons/coupons.module.ts'
import { OrdersModule } from './orders/orders.module.ts'
import { RedisClient, RedisModule } from './redis.module.ts'

@Module({
  imports: [
    LeaseholdModule.forRootAsync({
      imports: [RedisModule],
      inject: [RedisClient],
      useFactory: (redis: RedisClient) => redis.lockerOptions(),
    }),
    OrdersModule,
    CouponsModule,
  ],
})
export class AppModule {}
