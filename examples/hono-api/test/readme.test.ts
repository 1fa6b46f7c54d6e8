import { readFileSync } from 'node:fs'
import { startRedis } from '@leasehold/testkit/redis'
import { expect, test } from 'vitest'
import { startBridge } from '../local/bridge.ts'
import { startGateway } from '../local/gateway.ts'
import { startWorker } from '../local/workerd.ts'
import { startNode } from './shops.ts'

/** Each `curl` of the README, and the answer it shows in the comment below. */
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const commands = Array.from(
  readme.matchAll(/^curl(?: --json '(?<json>.*)')? '?localhost:(?<port>\d+)(?<path>[^\s']+)'?\n# (?<answer>.*)$/gm),
  ({ groups }) => groups as { json?: string; port: string; path: string; answer: string },
)

/** What is another one each time; `o-17` has one fence and one worker, whoever is asked. */
const settled = (answer: string): string => answer.replace(/"node-\d+"/, '"node"').replace(/"fence":\d+/, '"fence":1')

test('a server and a Worker on one Redis answer what the README shows', { timeout: 120_000 }, async () => {
  expect(commands.length).toBe(readme.match(/^curl/gm)?.length)
  await using redis = await startRedis()
  await using gateway = await startGateway(redis.url)
  await using bridge = await startBridge(redis.url)
  await using node = await startNode({ REDIS_URL: redis.url })
  const bindings = {
    REDIS_URL: gateway.url,
    REDIS_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridge.token,
    COUPONS: 'welcome:100,launch:3',
  }
  await using worker = await startWorker({ bindings })
  const urls: Readonly<Record<string, string>> = { '3000': node.url, '8788': worker.url }

  const answers: string[] = []
  for (const { json: body, port, path } of commands) {
    const init = body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    const response = await fetch(urls[port] + path, init)
    answers.push((await response.text()).trim())
  }
  expect(answers.map(settled)).toEqual(commands.map(({ answer }) => settled(answer)))
})
