import type { Clock } from '@leasehold/core'
import { namedEvent, SseBody } from '../http/sse-body.ts'
import type { UnreadTotal } from '../http/unread-total.ts'
import type { Follower, KeyState } from './followers.ts'
import type { WatchedKey } from './watched-key.ts'

/**
 * How much a reader may leave unread, in bytes: several times the states of the most keys that a stream can have. Releases
 * hardly add to it, since only one per key is kept.
 */
const maxUnreadBytes = 262_144
/** How long a reader should wait before it reconnects after a lost connection, in milliseconds. */
const retryMs = 1_000

export interface KeyStreamOptions {
  readonly clock: Clock
  readonly heartbeatMs: number
  readonly lifetimeMs: number
  readonly unreadTotal: UnreadTotal
  readonly messages: ReleaseMessages
  /** Aborted when the client has left. */
  readonly gone: AbortSignal
  /** Called once, when the stream has ended. */
  readonly onEnd: (stream: KeyStream) => void
}

/** One event stream. It is open until its client leaves or its lifetime is over; nothing of it remains after that. */
export class KeyStream {
  readonly #events: SseBody
  readonly #messages: ReleaseMessages
  readonly #gone: AbortSignal
  readonly #stopLifetime: () => void
  readonly #onEnd: (stream: KeyStream) => void
  #leaveKeys: readonly (() => void)[] = []

  constructor({ clock, heartbeatMs, lifetimeMs, unreadTotal, messages, gone, onEnd }: KeyStreamOptions) {
    this.#messages = messages
    this.#gone = gone
    this.#onEnd = onEnd
    this.#events = new SseBody({ heartbeatMs, maxUnreadBytes, unreadTotal, onEnd: () => this.#ended() })
    this.#stopLifetime = clock.schedule(() => this.#events.end(), lifetimeMs, 'background')
    gone.addEventListener('abort', this)
  }

  get body(): ReadableStream<Uint8Array> {
    return this.#events.body
  }

  /** Forwards what happens to these keys from now on. */
  begin(keys: readonly string[], inboxes: readonly string[], watchedOf: (key: string) => WatchedKey): void {
    // A server sends the headers together with these first bytes.
    this.#events.sendRetry(retryMs)
    for (const key of keys) {
      // The stream may end while a key reports to it. Nobody else would undo what is added after that.
      if (this.#events.hasEnded) return
      const watched = watchedOf(key)
      const leave = watched.follow(new StreamedKey(key, inboxes, watched, this.#messages, this.#events))
      if (this.#events.hasEnded) leave()
      else this.#leaveKeys = [...this.#leaveKeys, leave]
    }
  }

  /** The client has left. */
  handleEvent(): void {
    this.#events.end()
  }

  #ended(): void {
    this.#stopLifetime()
    this.#gone.removeEventListener('abort', this)
    for (const leave of this.#leaveKeys) leave()
    this.#leaveKeys = []
    this.#onEnd(this)
  }
}

/** Forwards what happens to one key to a stream. */
class StreamedKey implements Follower {
  readonly inboxes: readonly string[]
  readonly #key: string
  readonly #watched: WatchedKey
  readonly #messages: ReleaseMessages
  readonly #events: SseBody

  constructor(
    key: string,
    inboxes: readonly string[],
    watched: WatchedKey,
    messages: ReleaseMessages,
    events: SseBody,
  ) {
    this.#key = key
    this.inboxes = inboxes
    this.#watched = watched
    this.#messages = messages
    this.#events = events
  }

  state(state: KeyState): void {
    this.#events.sendNamed('state', JSON.stringify({ key: this.#key, ...state }))
  }

  released(): void {
    this.#events.sendOnce(this.#messages.of(this.#watched, this.#key))
  }

  turn(inbox: string, number: string): void {
    this.#events.sendNamed('turn', JSON.stringify({ key: this.#key, inbox, number: Number(number) }))
  }

  unavailable(): void {
    this.#events.end()
  }
}

/** The release messages, each encoded once for all streams of its key and kept for as long as the key is watched. */
export class ReleaseMessages {
  readonly #messages = new WeakMap<WatchedKey, Uint8Array>()

  of(watched: WatchedKey, key: string): Uint8Array {
    const message = this.#messages.get(watched) ?? namedEvent('release', JSON.stringify({ key }))
    this.#messages.set(watched, message)
    return message
  }
}
