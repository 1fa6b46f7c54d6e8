import { once } from 'node:events'
import type { CallDeadline, LeaseStore } from '@leasehold/core/adapter'
import { type RedisTransport, redisStore } from '@leasehold/core/redis'
import { ioredisTransport } from '@leasehold/ioredis'
import { callUntil, startHttpProxy, startTcpProxy } from '@leasehold/testkit'
import type { RedisServer } from '@leasehold/testkit/redis'
import { fetchStore } from '@leasehold/upstash'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { listen } from '../../packages/bridge/src/bin/http-server.ts'
import { ioredisGateway } from '../../packages/bridge/src/bin/ioredis-gateway.ts'
import { createGateway } from '../../packages/bridge/src/gateway/index.ts'
import { quiet } from './quiet.ts'
import type { User } from './ways.ts'

/** A store whose replies get lost, or whose requests arrive twice, when a test says so. */
export interface LossyWay extends AsyncDisposable {
  readonly name: string
  readonly store: LeaseStore
  /** Lets the server carry out the next request, and loses its reply. */
  loseReply(): Promise<unknown>
  /** Lets the next request arrive twice, and delivers the second answer. */
  twice(): Promise<unknown>
}

/** The same server over TCP and over HTTP, in this order. */
export const lossyWays = async (redis: RedisServer): Promise<readonly LossyWay[]> => [
  await overTcp(redis),
  await overHttp(redis),
]

/** A client that reconnects at once after a loss, and resends nothing by itself. */
export const plainClient = (port: number, user?: User): Redis =>
  quiet(new Redis({ port, autoResendUnfulfilledCommands: false, retryStrategy: () => 1, ...user }))

/** Makes a call whose reply is lost, and which its caller then gives up. */
export async function unanswered<O>({ loseReply }: LossyWay, ask: (call: CallDeadline) => Promise<O>): Promise<void> {
  const stop = new AbortController()
  const dropped = loseReply()
  const asking = ask(callUntil(stop.signal))
  await dropped
  stop.abort()
  expect(await asking).toMatchObject({ type: 'unknown', executed: 'unknown' })
}

async function overTcp(redis: RedisServer): Promise<LossyWay> {
  const proxy = await startTcpProxy({ port: redis.port })
  const client = plainClient(proxy.port)
  const transport = ioredisTransport(client)
  let doubled: (() => void) | undefined
  const sendingTwice: RedisTransport = {
    ...transport,
    async run(calls, deadline) {
      const done = doubled
      doubled = undefined
      if (done) await transport.run(calls, deadline)
      done?.()
      return transport.run(calls, deadline)
    },
  }
  return {
    name: 'tcp',
    store: redisStore(sendingTwice),
    async loseReply() {
      const connected = once(client, 'ready')
      await proxy.dropNextReply()
      // Anything written before the client has noticed is lost, too.
      await connected
    },
    twice: () =>
      new Promise<void>((resolve) => {
        doubled = resolve
      }),
    async [Symbol.asyncDispose]() {
      client.disconnect()
      await proxy.stop()
    },
  }
}

async function overHttp(redis: RedisServer): Promise<LossyWay> {
  const token = 'lossy-token-0123456789abcdef-0123456789abcdef'
  const gateway = ioredisGateway(`redis://127.0.0.1:${redis.port}`, { unansweredMs: 5_000 })
  const http = await listen(createGateway({ redis: gateway, tokens: [token] }), { host: '127.0.0.1', port: 0 })
  const proxy = await startHttpProxy({ target: http.url })
  return {
    name: 'http',
    store: fetchStore({ url: proxy.url, token }),
    loseReply: () => proxy.dropNextReply(),
    twice: () => proxy.duplicateNext('last'),
    async [Symbol.asyncDispose]() {
      await proxy.stop()
      await http.close(0)
      gateway.close()
    },
  }
}
