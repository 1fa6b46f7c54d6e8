import { env, waitUntil } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { couponLimits } from '@leasehold/example-shop/coupons'
import { redisRecords } from '@leasehold/example-shop/redis-records'
import { fetchStore, fetchTransport } from '@leasehold/upstash'
import { createApi } from './api.ts'
import { wakeUpsFrom } from './wake-ups.ts'

// At module scope: creating these sends nothing, and requests share no timer and no promise through them.
const redis = { url: env.REDIS_URL, token: env.REDIS_TOKEN }
const app = createApi({
  locks: createLocker({ store: fetchStore(redis), notifier: wakeUpsFrom(env), name: 'worker', waitUntil }),
  records: redisRecords(fetchTransport(redis), 'shop:'),
  limits: couponLimits(env.COUPONS),
  server: 'worker',
})

export default {
  async fetch(request: Request): Promise<Response> {
    const answered = Promise.resolve(app.fetch(request))
    // The client may leave. Work that has begun continues, so that a retry finds its result.
    waitUntil(answered)
    return answered
  },
}
