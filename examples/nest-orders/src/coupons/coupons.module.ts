import { Module } from '@nestjs/common'
import { RedisModule } from '../redis.module.ts'
import { CouponsController } from './coupons.controller.ts'
import { CouponsService } from './coupons.service.ts'

@Module({ imports: [RedisModule], controllers: [CouponsController], providers: [CouponsService] })
export class CouponsModule {}
