import { env } from 'cloudflare:workers'
import { createLocker, type Duration } from '@leasehold/core'
import { wakeUpsFrom } from '@leasehold/example-hono-api/wake-ups'
import { createApp } from '@leasehold/example-shop/app'
import { auditedLocks } from '@leasehold/example-shop/audited-locks'
import { couponLimits } from '@leasehold/example-shop/coupons'
import { noLocks } from '@leasehold/example-shop/no-locks'
import { redisLedger, redisRecords } from '@leasehold/example-shop/redis-records'
import { fetchStore, fetchTransport } from '@leasehold/upstash'
import { toldWakeUps } from './told-wake-ups.ts'

/** The Hono example as the demo needs it: it writes every hold to the ledger, and every event of the locker to the log. */
const redis = { url: env.REDIS_URL, token: env.REDIS_TOKEN }
const transport = fetchTransport(redis)
const server = env.SERVER_NAME
const tell = (event: object): void => console.log(JSON.stringify({ at: Date.now(), ...event }))

const notifier = wakeUpsFrom(env, env.LOCK_PREFIX)
const locker = createLocker({
  store: fetchStore({ ...redis, prefix: env.LOCK_PREFIX, fenceMemory: env.FENCE_MEMORY as Duration }),
  notifier: notifier && toldWakeUps(notifier, (key) => tell({ type: 'woken', key })),
  name: server,
  ttl: env.LOCK_TTL as Duration,
  wait: env.LOCK_WAIT as Duration,
  onEvent: tell,
})

export default createApp({
  locks: auditedLocks(env.LOCKS === 'off' ? noLocks() : locker, redisLedger(transport, env.DATA_PREFIX), server),
  records: redisRecords(transport, env.DATA_PREFIX),
  limits: couponLimits(env.COUPONS),
  server,
  workMs: Number(env.WORK_MS),
})
