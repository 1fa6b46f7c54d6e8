import { startBridge } from '@leasehold/example-local/bridge'
import { curlsOf, run } from '@leasehold/example-local/curl'
import { startGateway } from '@leasehold/example-local/gateway'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'
import { startNode, startShopWorker } from './shops.ts'

/** Replaces what differs from run to run; `o-17` has the same fence and worker, whichever server is asked. */
const settled = (answer: string): string => answer.replace(/"node-\d+"/, '"node"').replace(/"fence":\d+/, '"fence":1')

test('a server and a Worker on one Redis answer what the README shows', { timeout: 120_000 }, async () => {
  const curls = curlsOf(new URL('../README.md', import.meta.url))
  await using redis = await startRedis()
  await using gateway = await startGateway(redis.url)
  await using bridge = await startBridge(redis.url)
  await using node = await startNode({ REDIS_URL: redis.url })
  await using worker = await startShopWorker({
    REDIS_URL: gateway.url,
    REDIS_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridge.token,
    COUPONS: 'welcome:100,launch:3',
  })
  const answers = await run(curls, { '3000': node.url, '8788': worker.url })
  expect(answers.map(settled)).toEqual(curls.map(({ answer }) => settled(answer)))
})
