import {
  noAnswer,
  type ScriptCall,
  type ScriptReply,
  sentFromNodeToNode,
  withoutArguments,
} from '@leasehold/core/redis'

/** Errors that the client raises before it has sent anything. */
const notSent = /^(The client is (closed|offline)|The queue is full|The command was aborted)$/

/**
 * The reply for a client's rejection: the server's own error, or no answer.
 *
 * Only the name and the message of an error are kept, without any argument that the message quotes: one is the token.
 */
export function failure(error: unknown, call: ScriptCall): ScriptReply {
  const { name, message, cause: last } = error instanceof Error ? error : new Error(String(error))
  const text = withoutArguments(message, call)
  if (isReply(error)) return { type: 'error', message: text }
  if (text.startsWith('Too many Cluster redirections')) {
    return sentFromNodeToNode(last instanceof Error ? withoutArguments(last.message, call) : text)
  }
  return noAnswer(notSent.test(text) ? 'no' : 'unknown', name, text)
}

/** Whether a node of a cluster answered that another one has the slot. */
export const isRedirection = (reply: ScriptReply): boolean =>
  reply.type === 'error' && /^(MOVED|ASK) /.test(reply.message)

/**
 * Whether this is the server's own error. The error's class says so, unless a bundler has renamed it: then the code in
 * capitals that the server's errors begin with does. The system's errors may begin so too, but have a `code`.
 */
function isReply(error: unknown): boolean {
  for (let each = Object(error); each && each !== Error.prototype; each = Object.getPrototypeOf(each)) {
    if (each.constructor?.name === 'ErrorReply') return true
  }
  return error instanceof Error && /^[A-Z][A-Z\d]+ /.test(error.message) && !('code' in error)
}
