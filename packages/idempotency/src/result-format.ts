import { joined } from './joined.ts'

/** The parts of an answer that are kept. */
export interface Result {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
}

/**
 * The first byte of a result. A change of the format must increment it, and read the former one for as long as records
 * are kept.
 */
const version = 1
/** Where the head begins: after the version, and the head's length in four bytes. */
const headAt = 5

/** Encodes version, length of the head, the head as JSON, and the body as it is. */
export function encodeResult({ status, statusText, headers, body }: Result): Uint8Array {
  const head = new TextEncoder().encode(JSON.stringify([status, statusText, headers]))
  const start = new Uint8Array(headAt)
  start[0] = version
  new DataView(start.buffer).setUint32(1, head.length)
  return joined([start, head, body])
}

/** @returns undefined for bytes that are not a result, or have another format */
export function decodeResult(bytes: Uint8Array): Result | undefined {
  try {
    if (bytes[0] !== version) return undefined
    const bodyAt = headAt + new DataView(bytes.buffer, bytes.byteOffset).getUint32(1)
    const head = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(headAt, bodyAt))
    const [status, statusText, headers] = JSON.parse(head) as [number, string, Result['headers']]
    return { status, statusText, headers, body: bytes.subarray(bodyAt) }
  } catch {
    return undefined
  }
}
