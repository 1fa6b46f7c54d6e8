import { base64Of } from '../http/base64.ts'
import { bytesOf, textOf } from '../http/text.ts'
import type { GatewayReply } from './gateway-redis.ts'
import { isArray, isError, isString } from './reply-shape.ts'

/** Turns a reply into pieces of JSON text: `{"result":…}`, or `{"error":…}` for an error. */
export type ReplyWriter = (reply: GatewayReply) => Iterable<string>

/** The most bytes of one string per piece. A multiple of three, so that base64 can be written in pieces. */
const pieceBytes = 49_152

/**
 * Writes replies in the encoding that the client asked for with `Upstash-Encoding`.
 *
 * With `base64`, every string is encoded except an `OK` that is the whole reply, and except error texts. Without it, a
 * string is text, and bytes that are not valid UTF-8 become U+FFFD. Integers keep all their digits. An error inside an
 * array has the same form as every other error of this protocol.
 */
export function replyWriter(base64: boolean): ReplyWriter {
  const short = base64
    ? (value: string | Uint8Array) => `"${base64Of(value)}"`
    : (value: string | Uint8Array) => JSON.stringify(textOf(value))
  const long = base64 ? base64Pieces : textPieces

  return function* (reply) {
    if (isError(reply)) return yield errorJson(reply.error)
    yield '{"result":'
    if (isString(reply) && isOk(reply)) yield '"OK"'
    else yield* valuePieces(reply, short, long)
    yield '}'
  }
}

/** Turns several replies into the pieces of a JSON array. */
export function* listPieces(replies: readonly GatewayReply[], write: ReplyWriter): Generator<string> {
  let before = '['
  for (const reply of replies) {
    yield before
    yield* write(reply)
    before = ','
  }
  yield replies.length === 0 ? '[]' : ']'
}

/** A loop rather than a recursion, since a reply may nest to any depth. */
function* valuePieces(
  whole: GatewayReply,
  short: (value: string | Uint8Array) => string,
  long: (value: Uint8Array) => Iterable<string>,
): Generator<string> {
  const open = [[whole][Symbol.iterator]()]
  let before = ''
  for (let array = open.at(-1); array; array = open.at(-1)) {
    const { done, value: reply } = array.next()
    if (done) {
      open.pop()
      if (open.length > 0) yield ']'
      before = ','
    } else if (isArray(reply)) {
      yield `${before}[`
      open.push(reply[Symbol.iterator]() as ArrayIterator<GatewayReply>)
      before = ''
    } else {
      if (!isString(reply)) yield before + (isError(reply) ? errorJson(reply.error) : String(reply))
      else if (reply.length <= pieceBytes) yield before + short(reply)
      else {
        yield before
        yield* long(bytesOf(reply))
      }
      before = ','
    }
  }
}

function* base64Pieces(bytes: Uint8Array): Generator<string> {
  yield '"'
  for (const part of parts(bytes)) yield base64Of(part)
  yield '"'
}

function* textPieces(bytes: Uint8Array): Generator<string> {
  // If a part ends in the middle of a character, the decoder keeps its beginning for the next part.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  yield '"'
  for (const part of parts(bytes)) yield JSON.stringify(decoder.decode(part, { stream: true })).slice(1, -1)
  yield `${decoder.decode()}"`
}

function* parts(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes)
}

export const errorJson = (error: string): string => `{"error":${JSON.stringify(error)}}`

const isOk = (reply: string | Uint8Array): boolean => reply.length === 2 && textOf(reply) === 'OK'
