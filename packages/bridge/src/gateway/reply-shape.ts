import type { GatewayReply, RedisErrorReply } from './gateway-redis.ts'

export const isError = (reply: GatewayReply): reply is RedisErrorReply =>
  typeof reply === 'object' && reply !== null && !isString(reply) && !isArray(reply)

export const isString = (reply: GatewayReply): reply is string | Uint8Array =>
  typeof reply === 'string' || reply instanceof Uint8Array

/** `Array.isArray` does not narrow to readonly arrays. */
export const isArray = (reply: GatewayReply): reply is readonly GatewayReply[] => Array.isArray(reply)

/**
 * Bytes counted for each element of a reply, in addition to those of its strings: JSON and memory need about that much.
 */
const elementBytes = 16

/** How deep a reply may nest, in arrays: deeper than Redis's own replies, and less deep than JSON parsers refuse. */
const deepest = 100

/** The size of a reply in bytes; undefined if it nests too deep. Counting stops at `most`. */
function replyBytes(whole: GatewayReply, most: number): number | undefined {
  const open = [[whole][Symbol.iterator]()]
  let bytes = 0
  for (let array = open.at(-1); array && bytes <= most; array = open.at(-1)) {
    const { done, value: reply } = array.next()
    if (done) {
      open.pop()
      continue
    }
    bytes += elementBytes
    if (isString(reply)) bytes += reply.length
    else if (isError(reply)) bytes += reply.error.length
    else if (isArray(reply)) {
      if (open.length > deepest) return undefined
      open.push(reply[Symbol.iterator]() as ArrayIterator<GatewayReply>)
    }
  }
  return bytes
}

/** The replies to one request, with an error in place of each that is too large or nests too deep. */
export function boundedReplies(
  replies: readonly GatewayReply[],
  most: number,
): { readonly replies: readonly GatewayReply[]; readonly bytes: number } {
  let total = 0
  const bounded = replies.map((reply): GatewayReply => {
    const bytes = replyBytes(reply, most - total)
    if (bytes === undefined) {
      return { error: `TOODEEP the reply nests deeper than ${deepest} arrays; the command was carried out` }
    }
    if (total + bytes > most) {
      return { error: `TOOLARGE the reply makes more than ${most} bytes; the command was carried out` }
    }
    total += bytes
    return reply
  })
  return { replies: bounded, bytes: total }
}
