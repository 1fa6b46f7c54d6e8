import { withJitter } from './jitter.ts'
import { bytesOf } from './text.ts'
import { Unread } from './unread.ts'
import type { UnreadTotal } from './unread-total.ts'

/** Proxies cut a silent response at about 100 s; clients that watch for a heartbeat expect one in 15. */
export const longestHeartbeatMs = 15_000

/**
 * How much of the time until a heartbeat is random. Without that, streams that a busy moment has brought together would stay
 * together and send their heartbeats in one go: for 10,000 streams that takes a second, in which nobody is woken.
 */
const heartbeatJitter = 0.25

/** How long an ended stream waits for its reader to take the rest. It would keep the connection of one that never does. */
const lastReadMs = 5_000

const heartbeat = bytesOf(': heartbeat\n\n')

export interface SseBodyOptions {
  /** The longest silence, in milliseconds. */
  readonly heartbeatMs: number
  /** What a reader may leave unread before it is cut off, in bytes: more than it can want late. */
  readonly maxUnreadBytes: number
  /** That of all streams, where it is limited. */
  readonly unreadTotal?: UnreadTotal
  /** Called once, however the stream ends: by the client, by `end`, or because nobody reads it. */
  readonly onEnd: () => void
}

/** The bytes of an event that has a name, for `sendOnce`. `data` is one line, as JSON is. */
export const namedEvent = (event: string, data: string): Uint8Array => bytesOf(`event: ${event}\ndata: ${data}\n\n`)

/**
 * The body of an SSE response.
 *
 * Its reader asks for the next piece when it has sent the one before. What comes meanwhile is kept here and handed over in one
 * piece, so that a slow reader takes no more memory than is counted.
 */
export class SseBody {
  readonly body: ReadableStream<Uint8Array>
  readonly #onEnd: () => void
  readonly #heartbeatMs: number
  readonly #maxUnreadBytes: number
  readonly #unreadTotal: UnreadTotal | undefined
  #unread: Unread | undefined
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  /** The reader waits for the next piece. */
  #isAskedFor = false
  #hasEnded = false
  /** Of the heartbeat; of an ended stream, of its end. */
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
    // Nothing is handed over before it is asked for.
    this.body = new ReadableStream(source, { highWaterMark: 0 })
    this.#armHeartbeat()
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * Sends one event. Of its lines only the first begins with `data: `; the others have no space there, or two if they
   * begin with one themselves. A reader that follows the standard gets them all. @upstash/redis takes each line that begins
   * with `data: ` for an event of its own, so that otherwise a payload could forge one.
   */
  send(data: string): void {
    const [first, ...others] = data.split(/\r\n|\r|\n/)
    const lines = others.map((line) => `data:${line.startsWith(' ') ? ' ' : ''}${line}\n`)
    this.#write(bytesOf(`data: ${first}\n${lines.join('')}\n`))
  }

  /** Sends an event that has a name, for readers that follow the standard. `data` is one line, as JSON is. */
  sendNamed(event: string, data: string): void {
    this.#write(namedEvent(event, data))
  }

  /**
   * Sends what was encoded before, for many streams perhaps, unless it is on its way already: a hint that says no more when
   * it is read twice, and that may come after what was sent later. It must not change.
   */
  sendOnce(message: Uint8Array): void {
    this.#write(message, true)
  }

  /** Tells the reader how long to wait before it comes back after a lost connection. */
  sendRetry(retryMs: number): void {
    this.#write(bytesOf(`retry: ${retryMs}\n\n`))
  }

  /** The last that the reader gets is what was sent before, if it takes that soon. */
  end(): void {
    if (!this.#finish()) return
    if (this.#isAskedFor) this.#close()
    // An end would wait behind what is unread, and the connection with it.
    else this.#timer = setTimeout(() => this.#fail('did not read it to its end'), lastReadMs)
  }

  /** Ends it, and forgets what is unread. */
  cutOff(): void {
    this.#finish()
    this.#fail('left too much unread')
  }

  #armHeartbeat(): void {
    const beat = (): void => {
      this.#armHeartbeat()
      // Some runtimes notice that a client has left only when something is written to it. What is unread is being written.
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

  /** Nothing more is sent. Answers whether it had not ended before. */
  #finish(): boolean {
    if (this.#hasEnded) return false
    this.#hasEnded = true
    clearTimeout(this.#timer)
    this.#onEnd()
    return true
  }

  /** Nothing more is handed over. */
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
