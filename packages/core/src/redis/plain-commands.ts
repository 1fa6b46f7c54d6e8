import { plainCommands } from '#process-state'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { RedisTransport, ScriptReply } from './redis-transport.ts'

/**
 * Sends one command that is not a script, such as `PING` or `CONFIG GET save`. It follows the rules of
 * `RedisTransport.run`: it sends nothing once the deadline is over, and it never rejects.
 */
export type PlainCommand = (words: readonly [string, ...string[]], call: CallDeadline) => Promise<ScriptReply>

/**
 * Offers plain commands alongside a transport, and returns the transport. Locks do not need them. A check uses them to
 * learn what scripts may not ask, and what a server without scripts says. Over HTTP they are not offered, because a
 * token there may allow only scripts.
 */
export function offerPlainCommands(transport: RedisTransport, send: PlainCommand): RedisTransport {
  plainCommands.set(transport, send)
  return transport
}

export const plainCommandOf = (transport: RedisTransport): PlainCommand | undefined =>
  plainCommands.get(transport) as PlainCommand | undefined
