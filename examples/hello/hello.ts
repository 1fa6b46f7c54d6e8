import { createLocker } from '@leasehold/core'
import { memoryNotifier, memoryStore } from '@leasehold/core/memory'
import { ioredisBackend } from '@leasehold/ioredis'
import { Redis } from 'ioredis'

// The embedded store lives in this process. With REDIS_URL, every process on that Redis shares the lock.
const store = memoryStore()
const redis = process.env['REDIS_URL'] ? new Redis(process.env['REDIS_URL']) : undefined
const backend = redis ? ioredisBackend(redis) : { store, notifier: memoryNotifier(store) }

const locks = createLocker({ ...backend, name: 'hello' })

// Waits up to 2 s for the lock, renews it while the work runs, and releases it whatever happens.
const fence = await locks.withLock('order:17', { ttl: '5s', wait: '2s' }, async (lease) => {
  console.log(`${lease.key} is ours`)

  // Somebody else asks. "Taken" is an answer, not an error.
  console.log(`tryAcquire answers ${await locks.tryAcquire('order:17')}`)

  lease.assertValid() // right before a side effect: it throws if the lease is lost
  console.log(`Charged once, under fence ${lease.fence}`)
  return lease.fence
})

// The next holder has a higher fence. A database that checks it refuses a late write of the first.
const next = await locks.tryAcquire('order:17')
console.log(`The next fence is higher: ${next !== null && next.fence > fence}`)
console.log(`release answers ${await next?.release()}`)

await locks.close()
redis?.disconnect()
