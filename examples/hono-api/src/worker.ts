import { env, waitUntil } from 'cloudflare:workers'
import { createLocker } from '@leasehold/core'
import { fetchStore, fetchTransport } from '@leasehold/upstash'
import { createApp } from './app.ts'
import { couponLimits } from './coupons.ts'
import { redisRecords } from './records.ts'
import { wakeUpsFrom } from './wake-ups.ts'

/** How long a lock that nobody was told of may take to be given back, in milliseconds. */
const cleanUpMs = 10_000

// At module scope: to make these sends nothing, and requests share no timer and no promise through them.
const redis = { url: env.REDIS_URL, token: env.REDIS_TOKEN }
const app = createApp({
  locks: createLocker({ store: fetchStore(redis), notifier: wakeUpsFrom(env), name: 'worker' }),
  records: redisRecords(fetchTransport(redis), 'shop:'),
  limits: couponLimits(env.COUPONS),
  server: 'worker',
})

async function answer(request: Request): Promise<Response> {
  const response = await app.fetch(request)
  // The locker may have asked for a lock and heard nothing. It takes that back behind us, while the request lives.
  if (response.status === 503) waitUntil(new Promise((resolve) => setTimeout(resolve, cleanUpMs)))
  return response
}

export default {
  fetch(request: Request): Promise<Response> {
    const answered = answer(request)
    // The client may leave. Work that was begun goes on, so that its retry finds a result.
    waitUntil(answered)
    return answered
  },
}
