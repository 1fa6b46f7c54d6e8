import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createLocker } from '@leasehold/core'
import { createApp } from './app.ts'
import { couponLimits } from './coupons.ts'
import { overHttp, overTcp } from './node-redis.ts'
import { redisRecords } from './records.ts'
import { wakeUpsFrom } from './wake-ups.ts'

/** By when everything must be over after SIGTERM, in milliseconds. */
const exitDeadlineMs = 10_000

const { REDIS_URL = 'redis://127.0.0.1:6379', REDIS_TOKEN, COUPONS, PORT, SERVER_NAME } = process.env
const { BRIDGE_URL, BRIDGE_TOKEN } = process.env
const redis = REDIS_TOKEN
  ? overHttp({ url: REDIS_URL, token: REDIS_TOKEN }, wakeUpsFrom({ BRIDGE_URL, BRIDGE_TOKEN }))
  : overTcp(REDIS_URL)
const server = SERVER_NAME ?? `node-${process.pid}`

const { store, notifier } = redis
const locker = createLocker({ store, notifier, name: server })
const app = createApp({
  locks: locker,
  records: redisRecords(redis.transport, 'shop:'),
  limits: couponLimits(COUPONS ?? 'welcome:100,launch:3'),
  server,
})

async function answer(request: Request): Promise<Response> {
  const response = await app.fetch(request)
  // A server that ends waits for its connections, so none is kept for a next request then.
  if (!http.listening) response.headers.set('connection', 'close')
  return response
}

const http = serve({ fetch: answer, port: Number(PORT ?? 3000), hostname: '127.0.0.1' }) as Server
await once(http, 'listening')
const { port } = http.address() as AddressInfo
console.log(`${server} listens on http://127.0.0.1:${port} with Redis over ${REDIS_TOKEN ? 'HTTP' : 'TCP'}`)

async function stop(): Promise<void> {
  setTimeout(() => process.exit(1), exitDeadlineMs).unref()
  const closed = once(http, 'close')
  http.close()
  // Waits end at once (503), and running work may finish.
  await locker.close()
  await closed
  redis.close()
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop())
