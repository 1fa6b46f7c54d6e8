import { bytesOf } from '../http/text.ts'

/** The length of a slice that is written in one go, in characters: a few milliseconds of work. */
const sliceLength = 65_536
/** How long a reader may take for a slice, in milliseconds. Meanwhile the rest of the reply stays in memory. */
const sliceMs = 30_000

/**
 * A body that is generated from pieces of text while it is read. So it is never in memory as a whole, and other
 * requests are served between slices, however fast the reader is. It fails if the reader stops reading.
 */
export function slicedBody(pieces: Iterable<string>): ReadableStream<Uint8Array> {
  const rest = pieces[Symbol.iterator]()
  let first = true
  let timer: ReturnType<typeof setTimeout> | undefined
  const giveUp = (controller: ReadableStreamDefaultController): void => {
    rest.return?.()
    controller.error(new Error('The reader of a reply has stopped reading'))
  }
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(timer)
      if (!first) await turn()
      first = false
      const slice: string[] = []
      let length = 0
      let piece = rest.next()
      while (!piece.done) {
        slice.push(piece.value)
        length += piece.value.length
        if (length >= sliceLength) break
        piece = rest.next()
      }
      if (length > 0) controller.enqueue(bytesOf(slice.join('')))
      if (piece.done) controller.close()
      else timer = setTimeout(() => giveUp(controller), sliceMs)
    },
    cancel: () => {
      clearTimeout(timer)
      rest.return?.()
    },
  })
}

/** Waits for a turn of the event loop. A microtask would run before everything else. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
