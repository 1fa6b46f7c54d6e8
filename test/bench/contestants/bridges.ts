import { fileURLToPath } from 'node:url'
import type { Role } from './contestant.ts'

/** A program that tells of releases over HTTP, as `docs/bridge-protocol.md` has it: the bridge, or a floor to compare it with. */
export interface BridgeContestant {
  readonly name: string
  readonly role: Role
  /** Writes `"url":"…"` to stdout when it is ready. */
  readonly program: string
  args(redisPort: number): readonly string[]
  /** For Node itself. */
  readonly nodeArgs?: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Lets the load in; a program that asks for no token does not check it. */
export const bridgeToken = 'bench-4c81d0-0123456789abcdef01234'

/** More than a process may have open here. */
const limit = '1000000'

/** The program that people start, with nothing but its limits raised. */
export const bridgeProgram: BridgeContestant = {
  name: 'bridge',
  role: 'ours',
  program: fileURLToPath(new URL('../../../packages/bridge/src/bin/bridge.ts', import.meta.url)),
  args: (redisPort) => [
    ...['--redis', `redis://127.0.0.1:${redisPort}`, '--port', '0'],
    ...['--metrics-port', '0', '--per-client', limit, '--total', limit, '--keys-per-second', limit],
  ],
  env: { LEASEHOLD_BRIDGE_TOKENS: bridgeToken },
}

/**
 * With less room for new objects than the 64 MB that Node 24 allows. What a poll is made of is no garbage for 25 s, so that
 * clearing that room copies nearly all of it, which takes long the larger it is, and nobody is woken meanwhile.
 */
export const bridgeSmallYoung: BridgeContestant = {
  ...bridgeProgram,
  name: 'bridge, semi-space 16 MB',
  nodeArgs: ['--max-semi-space-size=16'],
}

export const bareBridge: BridgeContestant = {
  name: 'bare Node server',
  role: 'floor',
  program: fileURLToPath(new URL('./bare-bridge.ts', import.meta.url)),
  args: (redisPort) => [String(redisPort)],
  env: {},
}
