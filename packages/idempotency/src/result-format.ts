import { joined } from './joined.ts'

/** What is kept of an answer. */
export interface Result {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
}

/** The first byte of a result. Whoever changes the format counts it up, and reads the former for as long as records are kept. */
const version = 1
/** The version, and the length of the head in four bytes. */
const headAt = 5

/** Version, length of the head, the head as JSON, and the body as it is. */
export function encodeResult({ status, statusText, headers, body }: Result): Uint8Array {
  const head = new TextEncoder().encode(JSON.stringify([status, statusText, headers]))
  const start = new Uint8Array(headAt)
  start[0] = version
  new DataView(start.buffer).setUint32(1, head.length)
  return joined([start, head, body])
}

/** @returns undefined for what is no result, or has a later format */
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
