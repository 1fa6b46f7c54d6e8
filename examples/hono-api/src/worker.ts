import { env, waitUntil } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { fetchStore, fetchTransport } from '@leasehold/upstash'
import { createApp } from './app.ts'
import { couponLimits } from './coupons.ts'
import { redisRecords } from './records.ts'
import { wakeUpsFrom } from './wake-ups.ts'

// At module scope: to make these sends nothing, and requests share no timer and no promise through them.
const redis = { url: env.REDIS_URL, token: env.REDIS_TOKEN }
const app = createApp({
  locks: createLocker({ store: fetchStore(redis), notifier: wakeUpsFrom(env), name: 'worker', waitUntil }),
  records: redisRecords(fetchTransport(redis), 'shop:'),
  limits: couponLimits(env.COUPONS),
  server: 'worker',
})

export default {
  async fetch(request: Request): Promise<Response> {
    const answered = Promise.resolve(app.fetch(request))
    // The client may leave. Work that was begun goes on, so that its retry finds a result.
    waitUntil(answered)
    return answered
  },
}
