import type { ScriptReply } from '../redis-transport.ts'

/** The reply to a call that has no answer. Of the client's error it keeps the name and this text, and nothing that the client put on it. */
export function noAnswer(executed: 'no' | 'unknown', name: string, text: string): ScriptReply {
  const cause = new Error(text)
  cause.name = name
  return { type: 'unknown', executed, cause }
}

/**
 * The reply to a call that the nodes of a cluster sent from one to the other until the client had enough of it. All refused it, so it
 * was not carried out. It may be once the slot has been moved.
 *
 * @param last what the last of them said
 */
export const sentFromNodeToNode = (last: string): Extract<ScriptReply, { readonly type: 'error' }> => ({
  type: 'error',
  message: `TRYAGAIN The cluster's nodes sent the request from one to the other (${last})`,
})
