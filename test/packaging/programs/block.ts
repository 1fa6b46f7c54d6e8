import { createLocker } from '@leasehold/core'
import { memoryStore } from '@leasehold/core/memory'

/** A block that ends a lease, where TypeScript knows `await using`: from 5.2 on. */
export async function main(): Promise<string> {
  const locks = createLocker({ store: memoryStore() })
  {
    await using lease = await locks.acquire('order:1')
    await using turn = await locks.tryAcquire('order:1')
    lease.assertValid()
    if (turn) throw new Error('two holders')
  }
  return String((await locks.inspect('order:1')).held)
}
