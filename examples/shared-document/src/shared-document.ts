import { guardedGet, guardedSet } from '@leasehold/core/fencing'
import { ioredisTransport } from '@leasehold/ioredis'
import type { Redis } from 'ioredis'
import type { Part } from './messages.ts'

export interface Contents {
  readonly text: string
  readonly note: string
}

/**
 * A document in Redis. Each write carries the fence of its session, and the store refuses a lower one. So a session
 * that was taken over, and does not know it yet, can no longer change anything.
 */
export class SharedDocument {
  readonly #redis: Redis
  readonly #name: string

  constructor(redis: Redis, name: string) {
    this.#redis = redis
    this.#name = name
  }

  async read(): Promise<Contents> {
    const [text, note] = await Promise.all([this.#redis.get(this.#key('text')), this.#redis.get(this.#key('note'))])
    return { text: text ?? '', note: note ?? '' }
  }

  /** Returns whether the value was written. */
  async write(part: Part, value: string, fence: number): Promise<boolean> {
    const { stored } = await guardedSet(ioredisTransport(this.#redis), this.#key(part), value, { fence })
    if (stored) await this.#redis.publish(this.#name, part)
    return stored
  }

  /**
   * From now on, sessions with an earlier fence cannot write; what they have written stays. Returns whether the role is
   * still the session's. A read followed by a write would instead undo what is written between the two.
   */
  async claim(part: Part, fence: number): Promise<boolean> {
    return (await guardedGet(ioredisTransport(this.#redis), this.#key(part), { fence })).read
  }

  /** Calls the listener when any server has changed the document. */
  async onChange(listener: () => void): Promise<void> {
    // Resubscribing of its own accord, the client would leave a rejection unhandled if `close` comes meanwhile.
    const subscriber = this.#redis.duplicate({ autoResubscribe: false })
    this.#subscriber = subscriber
    subscriber.on('error', () => undefined)
    subscriber.on('message', listener)
    await new Promise<void>((resolve) => {
      subscriber.on('ready', () => {
        const subscribed = subscriber.subscribe(this.#name)
        // Changes made before the subscription, or while the connection was down, are not announced again.
        subscribed.then(listener).then(resolve, () => undefined)
      })
    })
  }

  close(): void {
    this.#subscriber?.disconnect()
  }

  #subscriber: Redis | undefined

  #key(part: Part): string {
    return `${this.#name}:${part}`
  }
}
