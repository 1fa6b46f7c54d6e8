import { startBridge } from '@leasehold/example-local/bridge'
import { startGateway } from '@leasehold/example-local/gateway'
import { type LocalProcess, startNodeProgram } from '@leasehold/example-local/node-program'
import { type RunningWorker, startWorker } from '@leasehold/example-local/workerd'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'

/** The same app three times, on one Redis. */
export interface Shops extends AsyncDisposable {
  readonly redis: RedisServer
  /** The apps, by how they run and how they reach Redis. */
  readonly urls: Readonly<Record<ShopName, string>>
  /** The names of what was done, in order. */
  effects(prefix: string): Promise<readonly string[]>
}

export const shopNames = ['Node, over TCP', 'Node, over HTTP', 'workerd, over HTTP'] as const
export type ShopName = (typeof shopNames)[number]

const coupons = 'few:7,tcp:3,http:3,workerd:3'
const main = new URL('../src/node.ts', import.meta.url)
const config = new URL('../wrangler.jsonc', import.meta.url)

export async function startShops(): Promise<Shops> {
  const redis = await startRedis()
  const gateway = await startGateway(redis.url)
  const bridge = await startBridge(redis.url)
  const rest = {
    REDIS_URL: gateway.url,
    REDIS_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridge.token,
  }
  const [tcp, http, worker] = await Promise.all([
    startNode({ REDIS_URL: redis.url, COUPONS: coupons }),
    startNode({ ...rest, COUPONS: coupons }),
    startShopWorker({ ...rest, COUPONS: coupons }),
  ])
  return {
    redis,
    urls: { 'Node, over TCP': tcp.url, 'Node, over HTTP': http.url, 'workerd, over HTTP': worker.url },
    async effects(prefix) {
      const lines = (await redis.command('LRANGE', 'shop:ledger', 0, -1)) as readonly string[]
      return lines.map((line) => JSON.parse(line).effect as string).filter((effect) => effect.startsWith(prefix))
    },
    async [Symbol.asyncDispose]() {
      for (const part of [tcp, http, worker, bridge, gateway, redis]) await part[Symbol.asyncDispose]()
    },
  }
}

/** Starts the Hono app on Node, in its own process. */
export const startNode = (env: Readonly<Record<string, string>>): Promise<LocalProcess> => startNodeProgram(main, env)

/** Starts the Hono app in workerd. */
export const startShopWorker = (
  bindings: Readonly<Record<string, string>>,
  onLog?: (line: string) => void,
): Promise<RunningWorker> => startWorker({ config, bindings, ...(onLog && { onLog }) })

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

export async function post(url: string, body: unknown, more: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...more }
  return answerOf(await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) }))
}

/** Repeats a request as a client does that reads `Retry-After`. */
export async function postPatiently(url: string, body: unknown): Promise<Answer> {
  for (;;) {
    const answer = await post(url, body)
    const seconds = answer.headers.get('retry-after')
    if (seconds === null) return answer
    await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1_000))
  }
}

export const answerOf = async (response: Response): Promise<Answer> => ({
  status: response.status,
  headers: response.headers,
  body: (await response.json()) as Answer['body'],
})
