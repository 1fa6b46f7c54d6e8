import { bytesOf } from './text.ts'

/** Newer runtimes have `toBase64` built in. */
type NativeBytes = Uint8Array & { toBase64?(): string }

/**
 * The part of Node's `Buffer` that is used; workerd has it with `nodejs_compat`. This file does not use Node's types.
 */
interface NodeBuffers {
  from(memory: ArrayBufferLike, start: number, length: number): { toString(encoding: 'base64'): string }
}

const { Buffer: buffers } = globalThis as { readonly Buffer?: NodeBuffers }
const encode = fastest()

export const base64Of = (value: string | Uint8Array): string => encode(bytesOf(value))

function fastest(): (bytes: Uint8Array) => string {
  const native = (Uint8Array.prototype as NativeBytes).toBase64
  if (native) return (bytes) => native.call(bytes)
  if (buffers) return (bytes) => buffers.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return portableBase64
}

/** The number of bytes per `String.fromCharCode` call: every runtime accepts this many arguments. */
const chunkLength = 8_192

/** The fallback for a runtime with neither `toBase64` nor `Buffer`. */
export function portableBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let start = 0; start < bytes.length; start += chunkLength) {
    binary += String.fromCharCode(...bytes.subarray(start, start + chunkLength))
  }
  return btoa(binary)
}
