import { DistributedLock, LeaseholdLocker } from '@leasehold/nestjs'
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  Injectable,
  Param,
  ParseIntPipe,
  Query,
  SetMetadata,
  UseGuards,
} from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import { MoreOrdersService, OrdersService, RequestService } from './orders.service.js'

/** Admits requests that name the role that the handler demands. */
@Injectable()
export class RoleGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const role = this.reflector.get<string>('role', context.getHandler())
    return role === context.switchToHttp().getRequest<{ query: Record<string, string> }>().query['role']
  }
}

@Controller('orders')
export class OrdersController {
  constructor(
    private readonly orders: OrdersService,
    private readonly more: MoreOrdersService,
    private readonly perRequest: RequestService,
    private readonly locks: LeaseholdLocker,
  ) {}

  @Get(':userId/:productId/process')
  process(
    @Param('userId') userId: string,
    @Param('productId', ParseIntPipe) productId: number,
    @Query('gate') gate: string,
  ): Promise<string> {
    return this.orders.process(userId, productId, gate)
  }

  @Get(':userId/inherited')
  inherited(@Param('userId') userId: string, @Query('gate') gate: string): Promise<string> {
    return this.more.process(userId, 7, gate)
  }

  @Get(':userId/cancel')
  cancel(@Param('userId') userId: string, @Query('gate') gate: string): Promise<string> {
    return this.more.cancel(userId, gate)
  }

  @Get(':id/request')
  request(@Param('id') id: string, @Query('gate') gate: string): Promise<string> {
    return this.perRequest.run(id, gate)
  }

  /** Guarded itself, with decorators of Nest above and below. */
  @Get(':id/above')
  @HttpCode(202)
  @UseGuards(RoleGuard)
  @SetMetadata('role', 'clerk')
  @DistributedLock({ key: (id, quantity) => `above:${id}:${quantity.toFixed()}` })
  async above(@Param('id') id: string, @Query('quantity', ParseIntPipe) quantity: number): Promise<object> {
    return { id, quantity, held: await this.locks.isLocked(`above:${id}:${quantity}`) }
  }

  @DistributedLock({ key: (id, quantity) => `below:${id}:${quantity.toFixed()}` })
  @Get(':id/below')
  @HttpCode(202)
  @Header('x-from', 'below')
  @UseGuards(RoleGuard)
  @SetMetadata('role', 'clerk')
  async below(@Param('id') id: string, @Query('quantity', ParseIntPipe) quantity: number): Promise<object> {
    return { id, quantity, held: await this.locks.isLocked(`below:${id}:${quantity}`) }
  }
}
