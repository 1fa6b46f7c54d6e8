import type { Clock } from '@leasehold/core'
import { withDeadline } from '@leasehold/core/adapter'
import { joined } from './joined.ts'

/** Limits for reading a body. */
export interface ReadingBounds {
  readonly clock: Clock
  /** The most bytes to read. */
  readonly largest: number
  readonly withinMs: number
  /** Aborts the read, which then rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined
}

export type BodyRead =
  | { readonly type: 'whole'; readonly bytes: Uint8Array<ArrayBuffer> }
  | {
      readonly type: 'too-large' | 'too-slow'
      /** The whole body as a stream: what was read, and then the rest. */
      readonly stitched: () => ReadableStream<Uint8Array>
      /** Stops reading. */
      readonly drop: () => void
    }

/**
 * Reads a body, but no more of it than the limits allow.
 *
 * @throws the stream's own error; TypeError for a stream that has another reader, or whose chunks are not bytes
 */
export async function readBody(body: ReadableStream<Uint8Array> | null, bounds: ReadingBounds): Promise<BodyRead> {
  if (!body) return { type: 'whole', bytes: new Uint8Array() }
  const { clock, largest, withinMs, signal } = bounds
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  /** A read in flight, whose chunk is not in `chunks` yet. */
  let awaited: ReturnType<typeof reader.read> | undefined
  const drop = (): void => void reader.cancel().catch(() => undefined)
  const reading = withDeadline(
    clock,
    withinMs,
    async (call) => {
      while (size <= largest) {
        awaited = reader.read()
        const { done, value } = await awaited
        // The deadline has passed: the late chunk belongs to the stitched stream.
        if (call.isOver) return undefined
        awaited = undefined
        if (done) return 'whole'
        if (!ArrayBuffer.isView(value)) throw new TypeError('A chunk of the body is not bytes')
        chunks.push(value)
        size += value.byteLength
      }
      return 'too-large'
    },
    undefined,
    signal,
  )
  const type = await reading.catch((error: unknown) => {
    drop()
    throw error
  })
  if (type === 'whole') return { type, bytes: joined(chunks) }
  const stitched = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      async pull(controller) {
        const chunk = chunks.shift()
        if (chunk) return controller.enqueue(chunk)
        const { done, value } = await (awaited ?? reader.read())
        awaited = undefined
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    })
  return { type: type ?? 'too-slow', stitched, drop }
}
