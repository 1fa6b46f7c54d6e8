import { readFileSync } from 'node:fs'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'
import { startBridge } from './bridge.ts'
import { startGateway } from './gateway.ts'
import { startPaymentService } from './payment-service.ts'
import { wranglerDev } from './wrangler-dev.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

/** Each `curl` of the README, and the answer it shows in the comment below. */
const commands = Array.from(
  readme.matchAll(/^curl -i localhost:8788(?<path>\S+)(?: -H '(?<header>.*?)')? -d '(?<body>.*)'\n# (?<answer>.*)$/gm),
  ({ groups }) => groups as { path: string; header?: string; body: string; answer: string },
)

test('`wrangler dev` against `leasehold-gateway` answers what the README shows', { timeout: 120_000 }, async () => {
  expect(commands.length).toBe(readme.match(/^curl/gm)?.length)
  await using redis = await startRedis()
  await using gateway = await startGateway(redis.url)
  await using bridge = await startBridge(redis.url)
  await using payments = await startPaymentService()
  await using worker = await wranglerDev({
    REDIS_URL: gateway.url,
    REDIS_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridge.token,
    PAYMENTS_URL: payments.url,
  })
  const answers: string[] = []
  for (const { path, header, body } of commands) {
    const [name, value] = header?.split(': ') ?? []
    const headers = name !== undefined && value !== undefined ? { [name]: value } : {}
    const response = await fetch(worker.url + path, { method: 'POST', headers, body })
    answers.push(`${response.status} ${await response.text()}`)
  }
  expect(answers).toEqual(commands.map(({ answer }) => answer))
})
