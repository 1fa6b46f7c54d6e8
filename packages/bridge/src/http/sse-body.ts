import { withJitter } from './jitter.ts'
import { bytesOf } from './text.ts'
import { Unread } from './unread.ts'
import type { UnreadTotal } from './unread-total.ts'

/**
 * In milliseconds. Proxies cut a silent response off at about 100 s; clients that watch for heartbeats expect one
 * within 15 s.
 */
export const longestHeartbeatMs = 15_000

/**
 * The share of the heartbeat interval that is random. Otherwise streams that a busy moment has synchronized would stay
 * synchronized and send their heartbeats at once: for 10,000 streams that takes a second, in which nobody is woken.
 */
const heartbeatJitter = 0.25

/**
 * How long an ended stream waits for its reader to take the rest, in milliseconds. A stalled reader would keep its
 * connection.
 */
const lastReadMs = 5_000

const heartbeat = bytesOf(': heartbeat\n\n')

export interface SseBodyOptions {
  /** The longest silence, in milliseconds. */
  readonly heartbeatMs: number
  /** How much a reader may leave unread before it is cut off, in bytes. */
  readonly maxUnreadBytes: number
  /** Limits what the readers of all streams leave unread; not limited if omitted. */
  readonly unreadTotal?: UnreadTotal
  /** Called once, however the stream ends: by the client, by `end`, or because it was not read. */
  readonly onEnd: () => void
}

/** The bytes of a named event, for `sendOnce`. `data` is one line, as JSON is. */
export const namedEvent = (event: string, data: string): Uint8Array => bytesOf(`event: ${event}\ndata: ${data}\n\n`)

/**
 * The body of an SSE response.
 *
 * The server asks for the next chunk when it has sent the last one. Events that come in the meantime are buffered here
 * and handed over in one chunk, so that the memory of a slow reader is counted.
 */
export class SseBody {
  readonly body: ReadableStream<Uint8Array>
  readonly #onEnd: () => void
  readonly #heartbeatMs: number
  readonly #maxUnreadBytes: number
  readonly #unreadTotal: UnreadTotal | undefined
  #unread: Unread | undefined
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  /** Whether the server is waiting for the next chunk. */
  #isAskedFor = false
  #hasEnded = false
  /** The timer for the next heartbeat; once the stream has ended, for cutting it off. */
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor({ heartbeatMs, maxUnreadBytes, unreadTotal, onEnd }: SseBodyOptions) {
    this.#onEnd = onEnd
    this.#heartbeatMs = heartbeatMs
    this.#maxUnreadBytes = maxUnreadBytes
    this.#unreadTotal = unreadTotal
    const source: UnderlyingDefaultSource<Uint8Array> = {
      start: (controller) => {
        this.#controller = controller
      },
      pull: () => this.#pull(),
      cancel: () => {
        this.#finish()
        this.#forget()
      },
    }
    // With a high-water mark of 0, nothing is handed over before it is asked for.
    this.body = new ReadableStream(source, { highWaterMark: 0 })
    this.#armHeartbeat()
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * Sends one event. Only its first line begins with `data: `. The others have no space there, or two if the line
   * itself begins with one; a reader that follows the standard gets them all. @upstash/redis treats each line that
   * begins with `data: ` as a separate event, so otherwise a payload could forge events.
   */
  send(data: string): void {
    const [first, ...others] = data.split(/\r\n|\r|\n/)
    const lines = others.map((line) => `data:${line.startsWith(' ') ? ' ' : ''}${line}\n`)
    this.#write(bytesOf(`data: ${first}\n${lines.join('')}\n`))
  }

  /** Sends a named event, for readers that follow the standard. `data` is one line, as JSON is. */
  sendNamed(event: string, data: string): void {
    this.#write(namedEvent(event, data))
  }

  /**
   * Sends a message that may be encoded once for many streams, unless the same message is still unread: reading such a
   * hint twice adds nothing. It may arrive after messages that were sent later. Its bytes must not change.
   */
  sendOnce(message: Uint8Array): void {
    this.#write(message, true)
  }

  /** Tells the reader how long to wait before it reconnects after a lost connection. */
  sendRetry(retryMs: number): void {
    this.#write(bytesOf(`retry: ${retryMs}\n\n`))
  }

  /** Ends the stream. The reader still gets what was sent before, if it reads that soon. */
  end(): void {
    if (!this.#finish()) return
    if (this.#isAskedFor) this.#close()
    // The end of the stream would wait behind unread bytes, and keep the connection open.
    else this.#timer = setTimeout(() => this.#fail('did not read it to its end'), lastReadMs)
  }

  /** Ends the stream, and drops what is unread. */
  cutOff(): void {
    this.#finish()
    this.#fail('left too much unread')
  }

  #armHeartbeat(): void {
    const beat = (): void => {
      this.#armHeartbeat()
      // Some runtimes notice only on a write that a client has left. If something is unread, a write is in progress.
      if (!this.#unread) this.#write(heartbeat)
    }
    this.#timer = setTimeout(beat, withJitter(this.#heartbeatMs, heartbeatJitter))
  }

  #write(bytes: Uint8Array, once = false): void {
    if (this.#hasEnded) return
    if (this.#isAskedFor) {
      this.#isAskedFor = false
      this.#controller?.enqueue(bytes)
    } else this.#keep(bytes, once)
  }

  #keep(bytes: Uint8Array, once: boolean): void {
    this.#unread ??= new Unread(this.#maxUnreadBytes)
    if (this.#unread.hasRoom(bytes.length)) {
      if (once) this.#unread.addOnce(bytes)
      else this.#unread.add(bytes)
      this.#unreadTotal?.set(this, this.#unread.memory)
    } else this.cutOff()
  }

  #pull(): void {
    if (this.#unread) {
      this.#controller?.enqueue(this.#unread.take())
      this.#forgetUnread()
    } else this.#isAskedFor = true
    if (this.#hasEnded) this.#close()
  }

  #close(): void {
    const controller = this.#controller
    this.#forget()
    controller?.close()
  }

  #fail(why: string): void {
    const controller = this.#controller
    this.#forget()
    controller?.error(new Error(`The reader of an event stream ${why}`))
  }

  /** Ends the stream for senders. Returns false if it had already ended. */
  #finish(): boolean {
    if (this.#hasEnded) return false
    this.#hasEnded = true
    clearTimeout(this.#timer)
    this.#onEnd()
    return true
  }

  /** Ends the stream for the reader: nothing more is handed over. */
  #forget(): void {
    clearTimeout(this.#timer)
    this.#controller = undefined
    this.#forgetUnread()
  }

  #forgetUnread(): void {
    if (!this.#unread) return
    this.#unread = undefined
    this.#unreadTotal?.set(this, 0)
  }
}
