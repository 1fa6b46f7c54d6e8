import { currentLease, DistributedLock } from '@leasehold/nestjs'
import { Injectable, Scope } from '@nestjs/common'
import { Redis } from 'ioredis'

const failureMessage = 'This order is being processed'

/** The work that each route has a service for. */
class Work {
  /** Goes on when somebody has pushed to the list, and answers the key and the fence of the lease that it runs under. */
  protected async work(gate: string): Promise<string> {
    const redis = new Redis(process.env['REDIS_URL'] as string)
    await redis.blpop(gate, 30)
    redis.disconnect()
    const lease = currentLease()
    lease?.assertValid()
    return `${lease?.key} ${(lease?.fence ?? 0) > 0}`
  }
}

@Injectable()
export class OrdersService extends Work {
  @DistributedLock({
    key: (userId, productId) => `order:${userId.trim()}:${productId.toFixed()}`,
    wait: Number(process.env['WAIT_MS'] ?? 3_000) as number,
    failureMessage: (userId) => `${failureMessage} for ${userId}`,
  })
  async process(userId: string, productId: number, gate: string): Promise<string> {
    return this.work(gate)
  }
}

/** A subclass, whose guarded methods are its own and those it inherits. */
@Injectable()
export class MoreOrdersService extends OrdersService {
  @DistributedLock({ key: (userId) => `cancel:${userId}`, wait: 0, onContended: 423, failureMessage })
  async cancel(userId: string, gate: string): Promise<string> {
    return this.work(gate)
  }
}

/** Made anew for each request. */
@Injectable({ scope: Scope.REQUEST })
export class RequestService extends Work {
  private static all = 0
  private readonly made: number = ++RequestService.all

  @DistributedLock({ key: (id) => `request:${id}`, wait: 0, failureMessage })
  async run(id: string, gate: string): Promise<string> {
    return `${this.made > 0} ${await this.work(gate)}`
  }
}
