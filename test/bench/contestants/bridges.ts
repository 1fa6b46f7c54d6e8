import { fileURLToPath } from 'node:url'
import type { Role } from './contestant.ts'

/**
 * A program that reports releases over HTTP, as in `docs/bridge-protocol.md`: the bridge, or a floor to compare it
 * with.
 */
export interface BridgeContestant {
  readonly name: string
  readonly role: Role
  /** Writes `"url":"…"` to stdout when it is ready. */
  readonly program: string
  args(redisPort: number): readonly string[]
  /** Options for Node itself. */
  readonly nodeArgs?: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Admits the load; a program without tokens does not check it. */
export const bridgeToken = 'bench-4c81d0-0123456789abcdef01234'

/** More than a process may have open on this machine. */
const limit = '1000000'

/** The program that users start, with only its limits raised. */
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
 * With a smaller young generation than the 64 MB that Node 24 allows. The objects of a poll stay alive for 25 s, so a
 * scavenge copies nearly all of that space, which takes longer the larger it is, and nobody is woken meanwhile.
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
