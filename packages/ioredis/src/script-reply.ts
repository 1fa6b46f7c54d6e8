import type { ScriptCall, ScriptReply } from '@leasehold/core/redis'

/**
 * A reply whose strings are buffers, as text and numbers. Buffers, because with the client's `stringNumbers` option a
 * number comes as a string, and could not be told from one.
 */
export function plainValue(value: unknown): unknown {
  // A Buffer, which becomes its UTF-8 text.
  if (ArrayBuffer.isView(value)) return String(value)
  if (typeof value === 'string') return Number(value)
  return Array.isArray(value) ? value.map(plainValue) : value
}

/**
 * What the client rejected with: the server's own error, or no answer.
 *
 * The client puts the command with all its arguments on its errors, the token among them, so nothing of an error is kept
 * but its name and message.
 */
export function failure(error: unknown, call: ScriptCall, resent = false): ScriptReply {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const text = withoutArguments(message, call)
  const sentOn =
    /^Too many Cluster redirections\. Last error: (ReplyError: (TRYAGAIN|ASK|MOVED|CLUSTERDOWN)\b.*)/s.exec(text)
  if (name === 'ReplyError' || sentOn) {
    // Each node has refused it so far: it was not carried out, and may be when the slot has been moved.
    const message = sentOn ? `TRYAGAIN The cluster's nodes sent the request from one to the other (${sentOn[1]})` : text
    return { type: 'error', message, ...(resent && { resent }) }
  }
  const cause = new Error(text)
  cause.name = name
  return { type: 'unknown', executed: 'unknown', cause }
}

/** Arguments at least this long may be secret; shorter ones are numbers. */
const shortestSecret = 16

function withoutArguments(message: string, call: ScriptCall): string {
  let text = withoutQuotation(message)
  for (const arg of call.args) if (arg.length >= shortestSecret) text = text.replaceAll(arg, '(argument)')
  return text
}

/** Redis quotes the arguments of a command it does not know. */
export const withoutQuotation = (message: string): string => message.replace(/,? with args beginning with.*/s, '')
