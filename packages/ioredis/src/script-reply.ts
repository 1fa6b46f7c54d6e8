import {
  noAnswer,
  type ScriptCall,
  type ScriptReply,
  sentFromNodeToNode,
  withoutArguments,
} from '@leasehold/core/redis'

/**
 * Turns a reply whose strings are buffers into text and numbers. With the client's option `stringNumbers`, a number comes as a
 * string, and would otherwise look like text.
 */
export function plainValue(value: unknown): unknown {
  // A Buffer, which becomes its UTF-8 text.
  if (ArrayBuffer.isView(value)) return String(value)
  if (typeof value === 'string') return Number(value)
  return Array.isArray(value) ? value.map(plainValue) : value
}

/**
 * The reply for a client's rejection: the server's own error, or no answer.
 *
 * The client puts the command with all its arguments on its errors, the token among them. So only the name and the message of an
 * error are kept.
 */
export function failure(error: unknown, call: ScriptCall, resent = false): ScriptReply {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const text = withoutArguments(message, call)
  const sentOn =
    /^Too many Cluster redirections\. Last error: (ReplyError: (TRYAGAIN|ASK|MOVED|CLUSTERDOWN)\b.*)/s.exec(text)
  if (name === 'ReplyError' || sentOn) {
    const { message } = sentOn ? sentFromNodeToNode(sentOn[1] as string) : { message: text }
    return { type: 'error', message, ...(resent && { resent }) }
  }
  return noAnswer('unknown', name, text)
}
