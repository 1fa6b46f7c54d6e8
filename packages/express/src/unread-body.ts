import type { IncomingMessage } from 'node:http'

/**
 * A request's body, which is not read before somebody asks for it. Once the answer is sent, Node drops what is unread,
 * and the connection stays open. (`Readable.toWeb` would end the connection, and the answer with it.)
 */
export function unreadBody(req: IncomingMessage): ReadableStream<Uint8Array> {
  req.pause()
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const end = (finish: () => void) => (): void => {
          req.off('data', onData)
          finish()
        }
        const onData = (chunk: Buffer): void => {
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) req.pause()
        }
        const ended = end(() => closed(() => controller.close()))
        const broken = end(() => closed(() => controller.error(new Error('The body broke off'))))
        req.on('data', onData)
        req.once('end', ended)
        req.once('error', broken)
        req.once('close', () => req.complete || broken())
      },
      pull: () => void req.resume(),
      cancel() {
        req.removeAllListeners('data')
        req.resume()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Ends a stream, unless it was canceled or has ended: it cannot be ended again. */
function closed(end: () => void): void {
  try {
    end()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
  }
}
