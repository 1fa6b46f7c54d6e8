import { sooner } from './sooner.ts'
import { bytesOf } from './text.ts'

/** Proxies cut a silent response at about 100 s; clients that watch for a heartbeat expect one in 15. */
export const longestHeartbeatMs = 15_000

/**
 * A heartbeat comes up to so much of its time sooner, at random. Those of streams that a busy moment has brought together
 * would otherwise stay together, and be sent in one go for ever: of 10,000 that takes a second in which nobody is woken.
 */
const heartbeatSpread = 0.25

export interface EventStreamOptions {
  /** The longest silence, in milliseconds. */
  readonly heartbeatMs: number
  /** What a reader may leave unread before it is cut off, in bytes: more than it can want late. */
  readonly maxUnreadBytes: number
  /** Called once, however the stream ends: by the client, by `end`, or because nobody reads it. */
  readonly onEnd: () => void
}

/** The body of an SSE response. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #onEnd: () => void
  readonly #heartbeatMs: number
  #heartbeat: ReturnType<typeof setTimeout> | undefined
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor({ heartbeatMs, maxUnreadBytes, onEnd }: EventStreamOptions) {
    this.#onEnd = onEnd
    this.#heartbeatMs = heartbeatMs
    const source: UnderlyingDefaultSource<Uint8Array> = {
      start: (controller) => {
        this.#controller = controller
      },
      cancel: () => void this.#finish(),
    }
    this.body = new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }))
    this.#armHeartbeat()
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

  /** Sends an event that has a name, for readers that follow the standard. `data` is one line, as JSON is. */
  sendNamed(event: string, data: string): void {
    this.#write(`event: ${event}\ndata: ${data}\n\n`)
  }

  /** Tells the reader how long to wait before it comes back after a lost connection. */
  sendRetry(retryMs: number): void {
    this.#write(`retry: ${retryMs}\n\n`)
  }

  end(): void {
    const controller = this.#finish()
    controller?.close()
  }

  #armHeartbeat(): void {
    const beat = (): void => {
      this.#armHeartbeat()
      // Some runtimes notice that a client has left only when something is written to it.
      this.#write(': heartbeat\n\n')
    }
    this.#heartbeat = setTimeout(beat, sooner(this.#heartbeatMs, heartbeatSpread))
  }

  #write(text: string): void {
    const room = this.#controller?.desiredSize ?? 0
    if (room > 0) this.#controller?.enqueue(bytesOf(text))
    // An error and not an end: an end would wait behind what is unread, and the connection with it.
    else this.#finish()?.error(new Error('The reader of an event stream left too much unread'))
  }

  /** Answers the controller, if the stream has not ended before. */
  #finish(): ReadableStreamDefaultController<Uint8Array> | undefined {
    const controller = this.#controller
    if (!controller) return undefined
    this.#controller = undefined
    clearTimeout(this.#heartbeat)
    this.#onEnd()
    return controller
  }
}
