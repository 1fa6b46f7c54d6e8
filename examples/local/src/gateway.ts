import { type LocalProcess, startBeside } from './local-process.ts'

/** `leasehold-gateway` in front of a Redis, and the token that it accepts. */
export interface Gateway extends LocalProcess {
  readonly token: string
}

const token = 'gateway-token-0123456789abcdef-0123456789'

export async function startGateway(redisUrl: string): Promise<Gateway> {
  const env = { LEASEHOLD_GATEWAY_REDIS: redisUrl, LEASEHOLD_GATEWAY_TOKENS: token }
  const running = await startBeside('leasehold-gateway', env)
  return { ...running, token }
}
