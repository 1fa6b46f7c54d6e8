import { bridgeHandler, bridgeObject, bridgeStub } from '@leasehold/bridge/durable-object'

interface Env {
  readonly REDIS_URL: string
  readonly TOKEN: string
}

/** What a Worker exports. */
export class Bridge extends bridgeObject((env: Env) => ({ redisUrl: env.REDIS_URL, auth: { tokens: [env.TOKEN] } })) {}

export async function main(): Promise<string> {
  return `${typeof Bridge} ${typeof bridgeHandler} ${typeof bridgeStub}`
}
