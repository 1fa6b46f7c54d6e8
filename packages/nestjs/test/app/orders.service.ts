import { currentLease, DistributedLock } from '@leasehold/nestjs'
import { Injectable, Scope } from '@nestjs/common'
import { Redis } from 'ioredis'

const failureMessage = 'This order is being processed'

/** The work that each route has a service for. */
class Work {
  /**
   * Continues when somebody has pushed to the list, and returns the key of its lease and whether the fence is above 0.
   */
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

/** A subclass with guarded methods of its own and inherited ones. */
@Injectable()
export class MoreOrdersService extends OrdersService {
  @DistributedLock({ key: (userId) => `cancel:${userId}`, wait: 0, onContended: 423, failureMessage })
  async cancel(userId: string, gate: string): Promise<string> {
    return this.work(gate)
  }
}

/** Created for each request. */
@Injectable({ scope: Scope.REQUEST })
export class RequestService extends Work {
  private static all = 0
  private readonly made: number = ++RequestService.all

  @DistributedLock({ key: (id) => `request:${id}`, wait: 0, failureMessage })
  async run(id: string, gate: string): Promise<string> {
    return `${this.made > 0} ${await this.work(gate)}`
  }
}
