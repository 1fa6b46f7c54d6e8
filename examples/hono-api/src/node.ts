import { createLocker } from '@leasehold/core'
import { couponLimits } from '@leasehold/example-shop/coupons'
import { redisRecords } from '@leasehold/example-shop/redis-records'
import { serveOnNode } from '@leasehold/example-shop/serve-on-node'
import { createApi } from './api.ts'
import { overHttp, overTcp } from './node-redis.ts'
import { wakeUpsFrom } from './wake-ups.ts'

const { REDIS_URL = 'redis://127.0.0.1:6379', REDIS_TOKEN, COUPONS, PORT, SERVER_NAME } = process.env
const { BRIDGE_URL, BRIDGE_TOKEN } = process.env
const redis = REDIS_TOKEN
  ? overHttp({ url: REDIS_URL, token: REDIS_TOKEN }, wakeUpsFrom({ BRIDGE_URL, BRIDGE_TOKEN }))
  : overTcp(REDIS_URL)
const server = SERVER_NAME ?? `node-${process.pid}`

const locker = createLocker({ ...redis.leases, name: server })
const app = createApi({
  locks: locker,
  records: redisRecords(redis.transport, 'shop:'),
  limits: couponLimits(COUPONS ?? 'welcome:100,launch:3'),
  server,
})

const http = await serveOnNode(app, Number(PORT ?? 3000), '127.0.0.1')
console.log(`${server} listens on ${http.url} with Redis over ${REDIS_TOKEN ? 'HTTP' : 'TCP'}`)

async function stop(): Promise<void> {
  // The process ends, even if something hangs.
  setTimeout(() => process.exit(1), 10_000).unref()
  http.refuse()
  // Requests that wait for a lock get a 503 at once. Running work may finish.
  await locker.close()
  await http.close()
  redis.close()
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop())
