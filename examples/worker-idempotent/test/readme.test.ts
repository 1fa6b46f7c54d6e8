import { startBridge } from '@leasehold/example-local/bridge'
import { curlsOf, run } from '@leasehold/example-local/curl'
import { startGateway } from '@leasehold/example-local/gateway'
import { wranglerDev } from '@leasehold/example-local/wrangler'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'
import { startPaymentService } from './payment-service.ts'

test('`wrangler dev` against `leasehold-gateway` answers what the README shows', { timeout: 120_000 }, async () => {
  const curls = curlsOf(new URL('../README.md', import.meta.url))
  await using redis = await startRedis()
  await using gateway = await startGateway(redis.url)
  await using bridge = await startBridge(redis.url)
  await using payments = await startPaymentService()
  await using worker = await wranglerDev(new URL('..', import.meta.url), {
    REDIS_URL: gateway.url,
    REDIS_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridge.token,
    PAYMENTS_URL: payments.url,
    CUSTOMERS: 'ada:ada-secret bob:bob-secret',
  })
  expect(await run(curls, { '8788': worker.url })).toEqual(curls.map(({ answer }) => answer))
})
