import { type Bridge, startBridge } from '@leasehold/example-local/bridge'
import { startGateway } from '@leasehold/example-local/gateway'
import { type RunningWorker, startWorker } from '@leasehold/example-local/workerd'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { type RedisServer, startRedis } from '@leasehold/testkit/redis'
import { type PaymentService, startPaymentService } from './payment-service.ts'

/** The Worker, and everything it needs: a real Redis, the gateway in front of it, a bridge, and a payment service. */
export interface Setting extends AsyncDisposable {
  readonly redis: RedisServer
  /** Stands between the Worker and the gateway. */
  readonly network: HttpProxy
  readonly bridge: Bridge
  readonly payments: PaymentService
  /** The `env` of the Worker. */
  readonly bindings: Readonly<Record<string, string>>
  /** One payment request, sent once. */
  pay(key: string, payment?: object, signal?: AbortSignal): Promise<Reply>
  /** The same, repeated as a client does that reads `Retry-After`. */
  payPatiently(key: string): Promise<Reply>
  /** Any other request. */
  request(path: string, init?: RequestInit): Promise<Reply>
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

/** The payment of most tests. */
export const payment = { amount: 1_999, currency: 'EUR' }

const config = new URL('../wrangler.jsonc', import.meta.url)

/** @param bindings the `env` of the Worker */
export const startPaymentWorker = (bindings: Readonly<Record<string, string>>): Promise<RunningWorker> =>
  startWorker({ config, bindings })

export async function startSetting(): Promise<Setting> {
  const redis = await startRedis()
  const gateway = await startGateway(redis.url)
  const network = await startHttpProxy({ target: gateway.url })
  const bridge = await startBridge(redis.url)
  const payments = await startPaymentService()
  const bindings = {
    REDIS_URL: network.url,
    REDIS_TOKEN: gateway.token,
    BRIDGE_URL: bridge.url,
    BRIDGE_TOKEN: bridge.token,
    PAYMENTS_URL: payments.url,
  }
  const worker = await startPaymentWorker(bindings)

  async function request(path: string, init?: RequestInit): Promise<Reply> {
    const response = await fetch(worker.url + path, init)
    return { status: response.status, headers: response.headers, body: (await response.json()) as Reply['body'] }
  }
  const pay = (key: string, body: object = payment, signal: AbortSignal | null = null): Promise<Reply> =>
    request('/payments', {
      method: 'POST',
      headers: { 'idempotency-key': key },
      body: JSON.stringify(body),
      signal,
    })

  return {
    redis,
    network,
    bridge,
    payments,
    bindings,
    request,
    pay,
    async payPatiently(key) {
      for (;;) {
        const reply = await pay(key)
        const seconds = reply.headers.get('retry-after')
        if (seconds === null) return reply
        await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1_000))
      }
    },
    async [Symbol.asyncDispose]() {
      for (const part of [worker, payments, bridge, network, gateway, redis]) await part[Symbol.asyncDispose]()
    },
  }
}
