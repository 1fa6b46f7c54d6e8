import { type LocalProcess, startBeside } from './local-process.ts'

/** `leasehold-bridge` beside a Redis, and the token that it accepts. */
export interface Bridge extends LocalProcess {
  readonly token: string
  /** The text of its metrics page. */
  metrics(): Promise<string>
}

const token = 'bridge-token-0123456789abcdef0123'
const metricsToken = 'metrics-token-0123456789abcdef012'

/** @param prefix the prefix of the locks */
export async function startBridge(redisUrl: string, prefix = 'lock:'): Promise<Bridge> {
  const env = {
    LEASEHOLD_BRIDGE_REDIS: redisUrl,
    LEASEHOLD_BRIDGE_TOKENS: token,
    LEASEHOLD_BRIDGE_METRICS_TOKEN: metricsToken,
    LEASEHOLD_BRIDGE_PREFIX: prefix,
  }
  const running = await startBeside('leasehold-bridge', env)
  const headers = { authorization: `Bearer ${metricsToken}` }
  return { ...running, token, metrics: async () => (await fetch(`${running.url}/metrics`, { headers })).text() }
}
