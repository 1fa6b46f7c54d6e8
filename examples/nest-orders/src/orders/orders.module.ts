import { Module } from '@nestjs/common'
import { OrdersV1Controller, OrdersV2Controller } from './orders.controller.ts'
import { OrdersV1Service } from './orders-v1.service.ts'
import { OrdersV2Service } from './orders-v2.service.ts'

@Module({
  controllers: [OrdersV1Controller, OrdersV2Controller],
  providers: [OrdersV1Service, OrdersV2Service],
})
export class OrdersModule {}
