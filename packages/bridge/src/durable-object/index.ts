/** `@leasehold/bridge/durable-object`: the bridge inside Cloudflare, where Redis is reachable over TCP. Needs `nodejs_compat`. */
import { redisConnection } from '../ioredis/redis-connection.ts'
import { type BridgeObjectClass, bridgeObjectClass } from './bridge-object.ts'
import type { BridgeObjectSettings } from './bridge-settings.ts'

export { type BridgeHandler, bridgeHandler } from './bridge-handler.ts'
export type { BridgeObject, BridgeObjectClass } from './bridge-object.ts'
export type { BridgeObjectSettings } from './bridge-settings.ts'
export { type BridgeNamespace, type BridgeStub, type BridgeStubOptions, bridgeStub } from './bridge-stub.ts'

/**
 * Makes the class of a Durable Object that is a bridge, to be exported from a Worker:
 *
 *     export class Bridge extends bridgeObject((env: Env) => ({ redisUrl: env.REDIS_URL, auth: { tokens: [env.TOKEN] } })) {}
 *
 * All who wait share its two connections to Redis, one that listens and one for checks. The first request that needs them
 * opens them, they are opened anew for as long as anybody waits, and they are closed `lingerMs` after the last request or
 * stream that did. A request that is not let in opens nothing and keeps nothing open; `/readyz` asks for a credential too.
 * It stores nothing: an object that is evicted, moved or replaced costs those who wait a reconnection.
 *
 * While a setting is missing or bad, every request is answered by a 500 that names it, and nothing is connected.
 *
 * @param settings called with the Worker's `env` by the first request, and by the first after connections were closed. What it throws by
 *   itself is not answered, but fails the request, and is in the Worker's log.
 */
export const bridgeObject = <Env>(settings: (env: Env) => BridgeObjectSettings): BridgeObjectClass<Env> =>
  bridgeObjectClass(redisConnection, settings)
