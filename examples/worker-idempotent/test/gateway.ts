import { type Program, startProgram } from './program.ts'

/** `leasehold-gateway` in front of a Redis, and what lets us in. */
export interface Gateway extends Program {
  readonly token: string
}

const token = 'gateway-token-0123456789abcdef0123'

export async function startGateway(redisUrl: string): Promise<Gateway> {
  const program = await startProgram('leasehold-gateway', {
    LEASEHOLD_GATEWAY_REDIS: redisUrl,
    LEASEHOLD_GATEWAY_TOKENS: token,
  })
  return { ...program, token }
}
