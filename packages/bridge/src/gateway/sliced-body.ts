import { bytesOf } from '../http/text.ts'

/** How much is written in one go, in characters: some milliseconds of work. */
const sliceLength = 65_536

/**
 * A body made of pieces of text while it is read, so that it never stands in memory as a whole, and so that other requests
 * have their turn between two slices of it, however fast its reader is.
 */
export function slicedBody(pieces: Iterable<string>): ReadableStream<Uint8Array> {
  const rest = pieces[Symbol.iterator]()
  let first = true
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
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
    },
  })
}

/** Not a microtask, which would come before everything else. */
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
