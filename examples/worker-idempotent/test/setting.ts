import { type Bridge, startBridge } from '@leasehold/example-local/bridge'
import { startGateway } from '@leasehold/example-local/gateway'
import { type RunningWorker, startWorker } from '@leasehold/example-local/workerd'
import { type HttpProxy, startHttpProxy } from '@leasehold/testkit'
import { type RedisServer, type RedisServerOptions, startRedis } from '@leasehold/testkit/redis'
import { elapse } from '../../../test/support/scale.ts'
import { type PaymentService, startPaymentService } from './payment-service.ts'

/** The Worker, and everything it needs: a real Redis, the gateway in front of it, a bridge, and a payment service. */
export interface Setting extends AsyncDisposable {
  readonly redis: RedisServer
  /** The network between the Worker and the gateway. */
  readonly network: HttpProxy
  readonly bridge: Bridge
  readonly payments: PaymentService
  /** The `env` of the Worker. */
  readonly bindings: Readonly<Record<string, string>>
  readonly worker: RunningWorker
  /** Sends one payment request of Ada's, once. */
  pay(key: string, payment?: object, signal?: AbortSignal): Promise<Reply>
  /** Sends a payment request of Ada's, and repeats it as a client that reads `Retry-After` does. */
  payPatiently(key: string): Promise<Reply>
  /** Sends any other request, as Ada unless it says otherwise. */
  request(path: string, init?: RequestInit): Promise<Reply>
}

export interface Reply {
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

/** The payment of most tests. */
export const payment = { amount: 1_999, currency: 'EUR' }

export const bearer = (customer: string): { readonly authorization: string } => ({
  authorization: `Bearer ${customer}-secret`,
})

/** The record's name for a key of Ada's, which the payment service gets as its own key. */
export const recordOf = (key: string): string => `idempotency:ada:${key}`

const config = new URL('../wrangler.jsonc', import.meta.url)

/**
 * @param bindings the `env` of the Worker
 * @param onLog called with what it logs
 */
export const startPaymentWorker = (
  bindings: Readonly<Record<string, string>>,
  onLog?: (line: string) => void,
): Promise<RunningWorker> => startWorker({ config, bindings, ...(onLog && { onLog }) })

/** Sends one request to a Worker, as Ada unless it says otherwise. */
export async function ask(worker: RunningWorker, path: string, init: RequestInit = {}): Promise<Reply> {
  const headers = { ...bearer('ada'), ...(init.headers as Record<string, string> | undefined) }
  const response = await fetch(worker.url + path, { ...init, headers })
  const text = await response.text()
  const { status, statusText, headers: received } = response
  return { status, statusText, headers: received, text, body: JSON.parse(text) as Reply['body'] }
}

/** Repeats a request as a client that reads `Retry-After` does. */
export async function patiently(send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await send()
    const seconds = reply.headers.get('retry-after')
    if (seconds === null) return reply
    await elapse(Number(seconds) * 1_000)
  }
}

/** A Redis that answers a write only when it is on disk, so that it has all of them after a kill. */
export const durable: RedisServerOptions = { args: ['--appendonly', 'yes', '--appendfsync', 'always'] }

export async function startSetting(redisOptions?: RedisServerOptions): Promise<Setting> {
  const redis = await startRedis(redisOptions)
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
    CUSTOMERS: 'ada:ada-secret bob:bob-secret',
  }
  const worker = await startPaymentWorker(bindings)

  const request = (path: string, init?: RequestInit): Promise<Reply> => ask(worker, path, init)
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
    worker,
    request,
    pay,
    payPatiently: (key) => patiently(() => pay(key)),
    async [Symbol.asyncDispose]() {
      for (const part of [worker, payments, bridge, network, gateway, redis]) await part[Symbol.asyncDispose]()
    },
  }
}
