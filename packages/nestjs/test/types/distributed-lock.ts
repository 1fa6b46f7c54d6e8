/*
 * What the compiler guarantees for `DistributedLock`. `tsc` checks this file; nothing loads it. A mistake is reported
 * at the option, so each comment that expects an error is right above the option, and not above the decorator.
 */
import { DistributedLock } from '@leasehold/nestjs'

export class Orders {
  readonly tenant: string = 'acme'

  @DistributedLock({ key: (userId, quantity) => userId.trim() + quantity.toFixed(), wait: '3s' })
  async process(userId: string, quantity: number): Promise<number> {
    return userId.length + quantity
  }

  @DistributedLock({ key: 'k', onContended: ({ cause }) => cause.waitedMs })
  async answered(): Promise<number> {
    return 1
  }

  @DistributedLock({ key: 'k', onContended: 'skip' })
  async nothing(): Promise<void> {
    await this.answered()
  }

  @DistributedLock({ key: (id) => id.trim(), onContended: 'skip' })
  async maybe(id: string): Promise<number | undefined> {
    return id === '' ? undefined : 1
  }

  @DistributedLock({ key: (id) => id.trim(), onContended: 'skip' })
  async anything(id: string): Promise<unknown> {
    return id
  }

  @DistributedLock({
    key: 'k',
    // @ts-expect-error
    onContended: 'skip',
  })
  async always(): Promise<number> {
    return 1
  }

  @DistributedLock({
    key: 'k',
    // @ts-expect-error
    onContended: 429,
  })
  async otherStatus(): Promise<number> {
    return 1
  }

  @DistributedLock({
    key: 'k',
    // @ts-expect-error
    onContended: () => 'busy',
  })
  async otherAnswer(): Promise<number> {
    return 1
  }

  @DistributedLock({
    key: 'k',
    // @ts-expect-error
    ttl: true,
  })
  async badTtl(): Promise<number> {
    return 1
  }

  @DistributedLock({
    key: 'k',
    // @ts-expect-error
    retries: 3,
  })
  async unknownOption(): Promise<number> {
    return 1
  }

  @DistributedLock({
    // @ts-expect-error
    key: (userId) => userId.toFixed(),
  })
  async wrongKey(userId: string): Promise<string> {
    return userId
  }
}
