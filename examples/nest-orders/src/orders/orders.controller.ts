import { Body, Controller, Get, Post, Query } from '@nestjs/common'
import { type Outcome, testConcurrency } from './concurrency-test.ts'
import { OrdersV1Service } from './orders-v1.service.ts'
import { OrdersV2Service } from './orders-v2.service.ts'

interface Order {
  readonly userId: string
  readonly productId: string
}

/** The callers of a test: all for the same order, so that they contend, or for one order each. */
const usersFor = (orders: string | undefined): readonly string[] =>
  orders === 'different' ? ['bob', 'cleo', 'dan'] : ['ada', 'ada', 'ada']

@Controller('v1/orders')
export class OrdersV1Controller {
  constructor(private readonly orders: OrdersV1Service) {}

  @Post('process')
  process(@Body() { userId, productId }: Order): Promise<string> {
    return this.orders.process(userId, productId)
  }

  @Get('test-concurrent')
  testConcurrent(@Query('orders') orders?: string): Promise<readonly Outcome[]> {
    return testConcurrency((userId, productId) => this.orders.process(userId, productId), usersFor(orders))
  }
}

@Controller('v2/orders')
export class OrdersV2Controller {
  constructor(private readonly orders: OrdersV2Service) {}

  @Post('process')
  process(@Body() { userId, productId }: Order): Promise<string> {
    return this.orders.process(userId, productId)
  }

  @Get('test-concurrent')
  testConcurrent(@Query('orders') orders?: string): Promise<readonly Outcome[]> {
    return testConcurrency((userId, productId) => this.orders.process(userId, productId), usersFor(orders))
  }
}
