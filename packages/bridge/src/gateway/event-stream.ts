import { bytesOf } from './text.ts'

/** What a reader may leave unread before its stream is ended, in bytes: more than it can want late. */
const maxUnreadBytes = 1_048_576

export interface EventStreamOptions {
  readonly heartbeatMs: number
  /** Called once, however the stream ends: by the client, by `end`, or because nobody reads it. */
  readonly onEnd: () => void
}

/** The body of an SSE response. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #onEnd: () => void
  readonly #heartbeat: ReturnType<typeof setInterval>
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor({ heartbeatMs, onEnd }: EventStreamOptions) {
    this.#onEnd = onEnd
    const source: UnderlyingDefaultSource<Uint8Array> = {
      start: (controller) => {
        this.#controller = controller
      },
      cancel: () => void this.#finish(),
    }
    this.body = new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }))
    // Some runtimes notice that a client has left only when something is written to it.
    this.#heartbeat = setInterval(() => this.#write(': heartbeat\n\n'), heartbeatMs)
  }

  /**
   * Sends one event. Of its lines only the first begins with `data: `; the others have no space there, or two if they
   * begin with one themselves. A reader that follows the standard gets them all. @upstash/redis takes each line that begins
   * with `data: ` for an event of its own, so that otherwise a payload could forge one.
   */
  send(data: string): void {
    const [first, ...others] = data.split(/\r\n|\r|\n/)
    const lines = others.map((line) => `data:${line.startsWith(' ') ? ' ' : ''}${line}\n`)
    this.#write(`data: ${first}\n${lines.join('')}\n`)
  }

  end(): void {
    const controller = this.#finish()
    controller?.close()
  }

  #write(text: string): void {
    const room = this.#controller?.desiredSize ?? 0
    if (room > 0) this.#controller?.enqueue(bytesOf(text))
    else this.end()
  }

  /** Answers the controller, if the stream has not ended before. */
  #finish(): ReadableStreamDefaultController<Uint8Array> | undefined {
    const controller = this.#controller
    if (!controller) return undefined
    this.#controller = undefined
    clearInterval(this.#heartbeat)
    this.#onEnd()
    return controller
  }
}
