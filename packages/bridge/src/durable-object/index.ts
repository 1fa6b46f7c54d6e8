/** `@leasehold/bridge/durable-object`: the bridge inside Cloudflare, where Redis is reachable over TCP. Needs `nodejs_compat`. */
import { redisConnection } from '../ioredis/redis-connection.ts'
import { type BridgeObjectClass, bridgeObjectClass } from './bridge-object.ts'
import type { BridgeObjectSettings } from './bridge-settings.ts'

export { type BridgeHandler, bridgeHandler } from './bridge-handler.ts'
export type { BridgeObject, BridgeObjectClass } from './bridge-object.ts'
export type { BridgeObjectSettings } from './bridge-settings.ts'
export { type BridgeNamespace, type BridgeStub, type BridgeStubOptions, bridgeStub } from './bridge-stub.ts'

/**
 * Makes the class of a Durable Object that is a bridge, to export from a Worker:
 *
 *     export class Bridge extends bridgeObject((env: Env) => ({ redisUrl: env.REDIS_URL, auth: { tokens: [env.TOKEN] } })) {}
 *
 * All waiters share its two connections to Redis, one to listen and one for checks. The first request that needs them
 * opens them, they are reopened for as long as anybody waits, and they are closed `lingerMs` after the last request or
 * stream that needed them. A request that is not let in opens nothing and keeps nothing open, so `/readyz` requires a
 * credential too. The object stores nothing: if it is evicted, moved or replaced, its waiters reconnect.
 *
 * While a setting is missing or bad, every request gets a 500 that names it, and nothing is connected.
 *
 * @param settings called with the Worker's `env` for the first request, and for the first one after the connections were closed.
 *   If it throws, the request fails, and the error is in the Worker's log.
 */
export const bridgeObject = <Env>(settings: (env: Env) => BridgeObjectSettings): BridgeObjectClass<Env> =>
  bridgeObjectClass(redisConnection, settings)
