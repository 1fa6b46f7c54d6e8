import { createLocker, type Locker } from '@leasehold/core'
import { LockContendedError, locked, lockedFunction } from '@leasehold/core/locked'
import { memoryStore } from '@leasehold/core/memory'

/** A method guarded by a standard decorator. */
class Orders {
  readonly locks: Locker

  constructor(locks: Locker) {
    this.locks = locks
  }

  @locked({ locks: (self) => self.locks, key: (id) => `order:${id}`, wait: 0, failureMessage: (id) => `${id} is busy` })
  async process(id: string, quantity: number): Promise<string> {
    return `${id} ${quantity} ${await this.locks.isLocked(`order:${id}`)}`
  }
}

/** The results of a guarded method and a guarded function, and of the method again while its lock is held. */
export async function main(): Promise<string> {
  const locks = createLocker({ store: memoryStore() })
  const orders = new Orders(locks)
  const double = lockedFunction((n: number) => n * 2, { locks, key: (n) => `n:${n}` })
  const answers = [await orders.process('a', 2), await double(4), orders.process.name, orders.process.length]
  const held = await locks.acquire('order:a')
  try {
    await orders.process('a', 2)
  } catch (error) {
    if (error instanceof LockContendedError) answers.push(error.message)
  }
  await held.release()
  await locks.close()
  return answers.join(' ')
}
