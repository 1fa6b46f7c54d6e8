import { SseBody } from '../http/sse-body.ts'
import { textOf } from '../http/text.ts'
import type { UnreadTotal } from '../http/unread-total.ts'
import type { GatewayRedis, RedisErrorReply, Topic, TopicSubscriber } from './gateway-redis.ts'

/** How much a reader may leave unread before it is cut off, in bytes. */
const maxUnreadBytes = 1_048_576

/** The outcome of waiting for the first confirmation. */
export type Opening = 'confirmed' | 'ended' | RedisErrorReply

export interface TopicStreamOptions {
  readonly topic: Topic
  readonly subscribe: GatewayRedis['subscribe']
  readonly heartbeatMs: number
  readonly unreadTotal: UnreadTotal
  /** Called once, when the stream has ended. */
  readonly onEnd: (stream: TopicStream) => void
}

/**
 * One event stream: the messages of one topic.
 *
 * States: *opening* → *open*, once Redis has confirmed → *ended*, by its reader, by `end`, or because Redis refused. A lost
 * connection does not end the stream: it is confirmed again when the connection is back.
 */
export class TopicStream implements TopicSubscriber {
  /** Resolves when the stream is open, or will never be. */
  readonly opening: Promise<Opening>
  readonly #topic: Topic
  readonly #events: SseBody
  #unsubscribe: () => void = () => undefined
  #opened: (opening: Opening) => void = () => undefined

  constructor({ topic, subscribe, heartbeatMs, unreadTotal, onEnd }: TopicStreamOptions) {
    this.#topic = topic
    this.opening = new Promise((resolve) => {
      this.#opened = resolve
    })
    const ended = (): void => {
      onEnd(this)
      this.#unsubscribe()
      this.#opened('ended')
    }
    this.#events = new SseBody({ heartbeatMs, maxUnreadBytes, unreadTotal, onEnd: ended })
    this.#unsubscribe = subscribe(topic, this)
  }

  get body(): ReadableStream<Uint8Array> {
    return this.#events.body
  }

  confirmed(): void {
    this.#events.send(`${this.#topic.pattern ? 'psubscribe' : 'subscribe'},${this.#topic.name},1`)
    this.#opened('confirmed')
  }

  lost(): void {
    // The reader learns of it from the next `confirmed`.
  }

  refused(error: string): void {
    this.#opened({ error })
    this.end()
  }

  message(channel: string | Uint8Array, payload: string | Uint8Array): void {
    const { pattern, name } = this.#topic
    const from = pattern ? `pmessage,${name},${textOf(channel)}` : `message,${name}`
    this.#events.send(`${from},${textOf(payload)}`)
  }

  end(): void {
    this.#events.end()
  }
}
