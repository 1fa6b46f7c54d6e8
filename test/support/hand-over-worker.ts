/*
 * A separate process that acquires, detaches, resumes and releases when it is told to, and answers with the outcome.
 * Arguments: the Redis URL, the prefix, its name.
 */
import { createLocker, type Lease } from '@leasehold/core'
import { type DetachedLease, detach, resume } from '@leasehold/core/hand-over'
import { ioredisStore } from '@leasehold/ioredis'
import { Redis } from 'ioredis'
import { quiet } from './quiet.ts'

export type HandOverOrder =
  | { readonly do: 'acquire'; readonly key: string; readonly ttl: number }
  | { readonly do: 'detach'; readonly key: string; readonly ttl: number }
  | { readonly do: 'resume'; readonly message: DetachedLease; readonly ttl: number }
  | { readonly do: 'release'; readonly key: string }

const [url = '', prefix = '', name = ''] = process.argv.slice(2)
const redis = quiet(new Redis(url))
const locks = createLocker({ store: ioredisStore(redis, { prefix }), name })
const leases = new Map<string, Lease>()

async function carryOut(order: HandOverOrder): Promise<object> {
  if (order.do === 'acquire' || order.do === 'resume') {
    const { ttl } = order
    const lease = await (order.do === 'acquire'
      ? locks.acquire(order.key, { ttl })
      : resume(locks, order.message, { ttl }))
    leases.set(lease.key, lease)
    return { fence: lease.fence }
  }
  const lease = leases.get(order.key)
  if (!lease) throw new Error('no such lease')
  if (order.do === 'release') return { outcome: await lease.release() }
  return { message: await detach(lease, { ttl: order.ttl }) }
}

process.on('message', (order: HandOverOrder) => {
  carryOut(order).then(
    (answer) => process.send?.(answer),
    (error: { code?: string; reason?: string }) => process.send?.({ code: error.code, reason: error.reason }),
  )
})
await locks.isLocked('warm-up')
process.send?.('ready')
