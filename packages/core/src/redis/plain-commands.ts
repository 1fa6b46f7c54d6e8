import { plainCommands } from '#process-state'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { RedisTransport, ScriptReply } from './redis-transport.ts'

/**
 * Sends one command that is no script, such as `PING` or `CONFIG GET save`. It follows the rules of `RedisTransport.run`: it sends
 * nothing when the deadline is over, and it never rejects.
 */
export type PlainCommand = (words: readonly [string, ...string[]], call: CallDeadline) => Promise<ScriptReply>

/**
 * Offers plain commands beside a transport, and answers the transport. Locks need none. A check learns from them what scripts may not
 * ask, and what a server says that has no scripts. Over HTTP they are not offered: there, a token may allow scripts alone.
 */
export function offerPlainCommands(transport: RedisTransport, send: PlainCommand): RedisTransport {
  plainCommands.set(transport, send)
  return transport
}

export const plainCommandOf = (transport: RedisTransport): PlainCommand | undefined =>
  plainCommands.get(transport) as PlainCommand | undefined
