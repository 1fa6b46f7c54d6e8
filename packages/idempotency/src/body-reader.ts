import type { Clock } from '@leasehold/core'
import { withDeadline } from '@leasehold/core/adapter'
import { joined } from './joined.ts'

/** The bounds within which a body is read. */
export interface ReadingBounds {
  readonly clock: Clock
  /** In bytes. */
  readonly largest: number
  readonly withinMs: number
  /** Ends the reading, which then rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined
}

export type BodyRead =
  | { readonly type: 'whole'; readonly bytes: Uint8Array<ArrayBuffer> }
  | {
      readonly type: 'too-large' | 'too-slow'
      /** The whole body as a stream: what was read, and then the rest. */
      readonly stitched: () => ReadableStream<Uint8Array>
      /** Reads no further. */
      readonly drop: () => void
    }

/**
 * Reads a body, but no more of it than the bounds allow.
 *
 * @throws what the stream fails with; TypeError for a stream that somebody else reads, or that has something else than bytes
 */
export async function readBody(body: ReadableStream<Uint8Array> | null, bounds: ReadingBounds): Promise<BodyRead> {
  if (!body) return { type: 'whole', bytes: new Uint8Array() }
  const { clock, largest, withinMs, signal } = bounds
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  /** A chunk that was asked for, and is not among the chunks yet. */
  let awaited: ReturnType<typeof reader.read> | undefined
  const drop = (): void => void reader.cancel().catch(() => undefined)
  const reading = withDeadline(
    clock,
    withinMs,
    async (call) => {
      while (size <= largest) {
        awaited = reader.read()
        const { done, value } = await awaited
        // Whoever takes over has the chunk that comes late.
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
