import { type Program, startProgram } from './program.ts'

/** `leasehold-bridge` beside a Redis, and what lets us in. */
export interface Bridge extends Program {
  readonly token: string
  /** Its page of numbers. */
  metrics(): Promise<string>
}

const token = 'bridge-token-0123456789abcdef0123'
const metricsToken = 'metrics-token-0123456789abcdef012'

/** @param prefix that of the locks */
export async function startBridge(redisUrl: string, prefix = 'lock:'): Promise<Bridge> {
  const program = await startProgram('leasehold-bridge', {
    LEASEHOLD_BRIDGE_REDIS: redisUrl,
    LEASEHOLD_BRIDGE_TOKENS: token,
    LEASEHOLD_BRIDGE_METRICS_TOKEN: metricsToken,
    LEASEHOLD_BRIDGE_PREFIX: prefix,
  })
  const headers = { authorization: `Bearer ${metricsToken}` }
  return { ...program, token, metrics: async () => (await fetch(`${program.url}/metrics`, { headers })).text() }
}
