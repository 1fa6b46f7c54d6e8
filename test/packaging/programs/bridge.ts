import { createGateway, defaultCommands, type GatewayRedis, UnansweredError } from '@leasehold/bridge/gateway'
import { createBridge, issueTicket } from '@leasehold/bridge/server'
import { ioredisStore, ioredisSubscriber } from '@leasehold/ioredis'
import { Hono } from 'hono'
import { Redis } from 'ioredis'

const absent: GatewayRedis = {
  pipeline: async () => Promise.reject(new UnansweredError('no')),
  multiExec: async () => Promise.reject(new UnansweredError('no')),
  subscribe: () => () => undefined,
}

/** Bridge and gateway, as apps in a user's own server. */
export async function main(servers: { readonly redis: string; readonly token: string }): Promise<string> {
  const { token } = servers
  const redis = new Redis(servers.redis)
  const stop = new AbortController()
  const ticketSecrets = [`${token}${token}`]
  const bridge = createBridge({
    store: ioredisStore(redis),
    subscriber: ioredisSubscriber(redis),
    auth: { tokens: [token], ticketSecrets },
    signal: stop.signal,
  })
  const gateway = createGateway({ redis: absent, tokens: [token], commands: [...defaultCommands, 'INFO'] })
  const app = new Hono().route('/bridge', bridge).route('/redis', gateway)
  const alive = await app.request('/bridge/healthz')
  const refused = await app.request('/redis/get/key')
  const away = await app.request('/redis/get/key', { headers: { authorization: `Bearer ${token}` } })
  const ticket = await issueTicket(ticketSecrets[0] ?? '', { patterns: ['a:*'], expiresInMs: '1m', subject: 'a' })
  stop.abort()
  redis.disconnect()
  return `${alive.status} ${refused.status} ${away.status} ${ticket.length > 0}`
}
