/*
 * What the compiler guarantees about `locked` as a decorator. `tsc` checks it; nothing loads it, because no runtime
 * here supports decorators.
 */
import { type LockCalls, locked } from '@leasehold/core/locked'

declare const locks: LockCalls

export class Orders {
  readonly calls: LockCalls = locks

  /** The key function's arguments have the types of the method's, and may be fewer. */
  @locked({ locks, key: (userId, quantity) => userId.trim() + quantity.toFixed() })
  async process(userId: string, quantity: number): Promise<number> {
    return userId.length + quantity
  }

  @locked({ locks: (self) => self.calls, key: (userId) => userId.trim(), failureMessage: (userId) => userId.trim() })
  async cancel(userId: string, quantity: number): Promise<number> {
    return userId.length + quantity
  }

  @locked({ locks, key: (userId = 'nobody') => userId.trim() })
  async optional(userId?: string): Promise<string | undefined> {
    return userId
  }

  @locked({ locks, key: (...ids) => ids.join() })
  async all(...ids: string[]): Promise<number> {
    return ids.length
  }

  @locked({ locks, key: (value) => String(value) })
  async generic<T>(value: T): Promise<T> {
    return value
  }

  @locked({
    locks,
    key() {
      return String(this.calls)
    },
    onContended: () => 5,
  })
  async own(): Promise<number> {
    return 1
  }

  // @ts-expect-error
  @locked({ locks, key: (userId: number) => userId.toFixed() })
  async otherArgument(userId: string): Promise<string> {
    return userId
  }

  // @ts-expect-error
  @locked({ locks, key: (userId) => userId.toFixed() })
  async wrongUse(userId: string): Promise<string> {
    return userId
  }

  // @ts-expect-error
  @locked({ locks, key: (a: string, b: string) => a + b })
  async tooFewArguments(a: string): Promise<string> {
    return a
  }

  // @ts-expect-error
  @locked({ locks, key: 'a' })
  noPromise(a: string): string {
    return a
  }

  // @ts-expect-error
  @locked({ locks, key: 'a', onContended: () => 'busy' })
  async otherAnswer(): Promise<number> {
    return 1
  }

  // @ts-expect-error
  @locked({ locks: (self) => self.locker, key: 'a' })
  async noSuchField(): Promise<void> {
    await this.own()
  }

  // @ts-expect-error
  @locked({ locks, key: 'a', signal: 'none', wait: true })
  async badOption(): Promise<void> {
    await this.own()
  }
}
