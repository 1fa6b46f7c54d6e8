import { ioredisBackend } from '@leasehold/ioredis'
import { LeaseholdModule, type LeaseholdModuleOptions } from '@leasehold/nestjs'
import { Module } from '@nestjs/common'
import { ScheduleModule } from '@nestjs/schedule'
import { Redis } from 'ioredis'
import { JobsService } from './jobs.service.js'
import { OrdersController, RoleGuard } from './orders.controller.js'
import { MoreOrdersService, OrdersService, RequestService } from './orders.service.js'

@Module({
  imports: [
    ScheduleModule.forRoot(),
    LeaseholdModule.forRootAsync({
      useFactory: (): LeaseholdModuleOptions => {
        const redis = new Redis(process.env['REDIS_URL'] as string)
        return { ...ioredisBackend(redis), onClosed: () => redis.disconnect() }
      },
    }),
  ],
  controllers: [OrdersController],
  providers: [
    OrdersService,
    MoreOrdersService,
    RequestService,
    RoleGuard,
    ...(process.env['JOBS'] ? [JobsService] : []),
  ],
})
export class AppModule {}
