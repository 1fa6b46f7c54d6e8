import type { ScriptReply } from '../redis-transport.ts'

/** The reply to a call without an answer. Its cause has the client's error name and this text, and nothing else. */
export function noAnswer(executed: 'no' | 'unknown', name: string, text: string): ScriptReply {
  const cause = new Error(text)
  cause.name = name
  return { type: 'unknown', executed, cause }
}

/**
 * The reply to a call that the nodes of a cluster redirected to one another until the client gave up. All of them
 * refused the call, so it was not carried out. A repeat may succeed once the slot has moved.
 *
 * @param last what the last node said
 */
export const sentFromNodeToNode = (last: string): Extract<ScriptReply, { readonly type: 'error' }> => ({
  type: 'error',
  message: `TRYAGAIN The cluster's nodes sent the request from one to the other (${last})`,
})
