/** A reply of a Redis server, in version 2 of its protocol. An error inside an array stays a value. */
export type RedisReply = string | number | null | Error | readonly RedisReply[]

/** The bytes of one command. */
export function encodeCommand(args: readonly (string | number)[]): Buffer {
  const parts = args.map((arg) => `$${Buffer.byteLength(String(arg))}\r\n${arg}\r\n`)
  return Buffer.from(`*${args.length}\r\n${parts.join('')}`)
}

/** Reads replies from a stream of bytes, however the network has split it. */
export class ReplyReader {
  #bytes = Buffer.alloc(0)

  push(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
  }

  /** The next complete reply, or undefined until more bytes have come. */
  next(): RedisReply | undefined {
    const found = readAt(this.#bytes, 0)
    if (!found) return undefined
    this.#bytes = this.#bytes.subarray(found.end)
    return found.reply
  }
}

interface Found {
  readonly reply: RedisReply
  readonly end: number
}

function readAt(bytes: Buffer, start: number): Found | undefined {
  const lineEnd = bytes.indexOf('\r\n', start)
  if (lineEnd < 0) return undefined
  const type = String.fromCharCode(bytes[start] ?? 0)
  const line = bytes.toString('utf8', start + 1, lineEnd)
  const end = lineEnd + 2
  if (type === '+') return { reply: line, end }
  if (type === '-') return { reply: new Error(line), end }
  if (type === ':') return { reply: Number(line), end }
  if (type === '$') return readString(bytes, Number(line), end)
  if (type === '*') return readArray(bytes, Number(line), end)
  throw new Error(`A Redis reply cannot begin with ${JSON.stringify(type)}`)
}

function readString(bytes: Buffer, length: number, start: number): Found | undefined {
  if (length < 0) return { reply: null, end: start }
  const end = start + length + 2
  return bytes.length < end ? undefined : { reply: bytes.toString('utf8', start, start + length), end }
}

function readArray(bytes: Buffer, length: number, start: number): Found | undefined {
  if (length < 0) return { reply: null, end: start }
  const items: RedisReply[] = []
  let end = start
  for (let index = 0; index < length; index++) {
    const found = readAt(bytes, end)
    if (!found) return undefined
    items.push(found.reply)
    end = found.end
  }
  return { reply: items, end }
}
