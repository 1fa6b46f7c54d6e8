import { fileURLToPath } from 'node:url'
import type { BridgeContestant } from './bridges.ts'

export const gatewayToken = 'bench-7a10e2-0123456789abcdef01234'

export const gatewayUrl = (port: number): string => `http://127.0.0.1:${port}`

/** The gateway between Redis and clients that speak HTTP, as the program that users start. */
export const gatewayProgram: BridgeContestant = {
  name: 'gateway',
  role: 'ours',
  program: fileURLToPath(new URL('../../../packages/bridge/src/bin/gateway.ts', import.meta.url)),
  args: (redisPort) => ['--redis', `redis://127.0.0.1:${redisPort}`, '--port', '0'],
  env: { LEASEHOLD_GATEWAY_TOKENS: gatewayToken },
}
