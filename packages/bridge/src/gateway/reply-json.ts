import { base64Of, textOf } from '../http/text.ts'
import type { GatewayReply, RedisErrorReply } from './gateway-redis.ts'

/** Makes JSON text of a reply: `{"result":…}`, or `{"error":…}` for an error. */
export type ReplyWriter = (reply: GatewayReply) => string

/**
 * Writes replies as the client asked for them with `Upstash-Encoding`.
 *
 * With `base64` every string is encoded but an `OK` that is the whole reply; error texts never are. Without, a string is
 * text, and bytes that are not valid UTF-8 become U+FFFD. Integers are written with all their digits, and an error inside
 * an array in the form that errors have elsewhere in this protocol.
 */
export function replyWriter(base64: boolean): ReplyWriter {
  const string = base64
    ? (value: string | Uint8Array) => `"${base64Of(value)}"`
    : (value: string | Uint8Array) => JSON.stringify(textOf(value))

  function json(reply: GatewayReply): string {
    if (reply === null || typeof reply === 'number' || typeof reply === 'bigint') return String(reply)
    if (isString(reply)) return string(reply)
    return isArray(reply) ? `[${reply.map(json).join(',')}]` : errorJson(reply.error)
  }
  return (reply) => {
    if (isError(reply)) return errorJson(reply.error)
    return `{"result":${isString(reply) && isOk(reply) ? '"OK"' : json(reply)}}`
  }
}

export const errorJson = (error: string): string => `{"error":${JSON.stringify(error)}}`

export const isError = (reply: GatewayReply): reply is RedisErrorReply =>
  typeof reply === 'object' && reply !== null && !isString(reply) && !isArray(reply)

const isString = (reply: GatewayReply): reply is string | Uint8Array =>
  typeof reply === 'string' || reply instanceof Uint8Array

/** `Array.isArray` does not know readonly arrays. */
const isArray = (reply: GatewayReply): reply is readonly GatewayReply[] => Array.isArray(reply)

const isOk = (reply: string | Uint8Array): boolean => reply.length === 2 && textOf(reply) === 'OK'
