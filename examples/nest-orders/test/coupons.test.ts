import { startBridge } from '@leasehold/example-local/bridge'
import { startGateway } from '@leasehold/example-local/gateway'
import { startWorker } from '@leasehold/example-local/workerd'
import { startRedis } from '@leasehold/testkit/redis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { elapse, rounds, soak } from '../../../test/support/scale.ts'
import { build, startNest } from './nest-server.ts'

const users = rounds(1_000, 200)
const limit = rounds(100, 20)
const coupons = ['node', 'worker', 'both'].map((name) => `${name}:${limit}`).join()

/** How many requests were told to retry, by status. */
const told = new Map<number, number>()
const ends: AsyncDisposable[] = []
let redis: Awaited<ReturnType<typeof startRedis>>
let node: readonly string[]
let worker: string
beforeAll(async () => {
  ;[redis] = await Promise.all([startRedis(), build()])
  const env = { REDIS_URL: redis.url, COUPONS: coupons }
  const [gateway, bridge] = await Promise.all([startGateway(redis.url), startBridge(redis.url)])
  ends.push(bridge, gateway)
  const instances = await Promise.all(['a', 'b'].map((name) => startNest({ ...env, SERVER_NAME: name })))
  ends.unshift(...instances)
  node = instances.map(({ url }) => url)
  const bindings = {
    COUPONS: coupons,
    REDIS_URL: gateway.url,
    REDIS_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridge.token,
  }
  const config = new URL(import.meta.resolve('@leasehold/example-hono-api/wrangler.jsonc'))
  const running = await startWorker({ config, bindings })
  ends.unshift(running)
  worker = running.url
})
afterAll(async () => {
  for (const each of ends) await each[Symbol.asyncDispose]()
  await redis.stop()
})

test.each<[string, () => readonly string[]]>([
  ['node', () => node],
  ['worker', () => [worker]],
  ['both', () => [...node, worker]],
])(
  `of ${users} users who go for ${limit} coupons over %s, exactly ${limit} get one`,
  async (coupon, urls) => {
    const answers = await Promise.all(
      Array.from({ length: users }, (_, index) => {
        const url = urls()[index % urls().length] as string
        return patiently(`${url}/api/coupons/${coupon}/issue`, `u-${index}`)
      }),
    )
    console.log(`${coupon}: told to ask again, by status: ${JSON.stringify([...told])}`)
    told.clear()
    const issued = answers.filter(({ status }) => status === 201).map(({ body }) => body)
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(users - limit)
    expect(new Set(issued.map(({ userId }) => userId)).size).toBe(limit)
    expect(issued.map(({ number }) => Number(number)).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: limit }, (_, index) => index + 1),
    )
    const ledger = (await redis.command('LRANGE', 'shop:ledger', 0, -1)) as readonly string[]
    expect(ledger.filter((line) => JSON.parse(line).effect?.startsWith(`issue:${coupon}:`))).toHaveLength(limit)
  },
  soak ? 300_000 : 50_000,
)

/** Retries, as a client does: while others have the lock, or when a server is too busy to find out. */
async function patiently(url: string, userId: string) {
  for (;;) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ userId }) }
    const response = await fetch(url, init)
    const body = (await response.json()) as Readonly<Record<string, unknown>>
    const { status, headers } = response
    if (![409, 503].includes(status)) return { status, body }
    told.set(status, (told.get(status) ?? 0) + 1)
    await elapse(Number(headers.get('retry-after') ?? 0) * 1_000)
  }
}
