import type { Context } from 'hono'
import { EventStream, namedEvent } from '../http/event-stream.ts'
import { sooner } from '../http/sooner.ts'
import { UnreadTotal } from '../http/unread-total.ts'
import type { CheckedOptions } from './bridge-options.ts'
import { problem } from './problem.ts'
import type { ReleaseWatch } from './release-watch.ts'
import type { WatchedKey } from './watched-key.ts'

/**
 * The memory that a reader may take with what it leaves unread: the states of the most keys a stream can have, several times.
 * Releases hardly add to it, as one of each key is kept.
 */
const maxUnreadBytes = 262_144
/**
 * A stream ends after so long, or up to a tenth sooner so that not all do at once, and its reader comes back: a half-open
 * connection, into which everything can be written for a long time, would keep it for ever.
 */
const longestStreamMs = 900_000
/** When a reader is told to come back after a lost connection. */
const retryMs = 1_000

interface StreamRequest {
  readonly keys: readonly string[]
  /** When its reader is not allowed to hear more, in milliseconds from now. */
  readonly expiresInMs: number | undefined
  /** Called once, when the stream has ended. */
  readonly onEnd: () => void
}

/** The event streams that are open, and how to open one. */
export class KeyStreams {
  readonly #options: CheckedOptions
  readonly #watch: Pick<ReleaseWatch, 'listenFor'>
  readonly #open = new Set<EventStream>()
  readonly #unreadTotal = new UnreadTotal()
  /** What tells of a release of a key, encoded for all its streams. */
  readonly #releases = new WeakMap<WatchedKey, Uint8Array>()

  constructor(options: CheckedOptions, watch: Pick<ReleaseWatch, 'listenFor'>) {
    this.#options = options
    this.#watch = watch
  }

  /** Answers at once with the headers; the state of each key follows as soon as it is known. */
  async answer(c: Context, { keys, expiresInMs, onEnd }: StreamRequest): Promise<Response> {
    const { clock, heartbeatMs, onEvent } = this.#options
    const gone = c.req.raw.signal
    const watched = await this.#watch.listenFor(gone)
    if (!watched || gone.aborted) {
      onEnd()
      return problem(c, 503, 'The bridge hears of no release now; look for yourself and come back')
    }
    const ends: (() => void)[] = [onEnd]
    const stream = new EventStream({
      heartbeatMs,
      maxUnreadBytes,
      unreadTotal: this.#unreadTotal,
      onEnd: () => {
        this.#open.delete(stream)
        for (const end of ends) end()
        onEvent({ type: 'streams', open: this.#open.size })
      },
    })
    this.#open.add(stream)
    onEvent({ type: 'streams', open: this.#open.size })
    // It makes the first bytes, with which a server sends the headers.
    stream.sendRetry(retryMs)
    // The stream may end while it is told of its first keys, and then nobody else would undo what comes after that.
    const atEnd = (end: () => void): void => {
      if (stream.hasEnded) end()
      else ends.push(end)
    }
    for (const key of keys) if (!stream.hasEnded) atEnd(this.#pipe(key, watched(key), stream))
    const lifetimeMs = Math.min(expiresInMs ?? longestStreamMs, sooner(longestStreamMs, 0.1))
    atEnd(clock.schedule(() => stream.end(), lifetimeMs, 'background'))
    const leave = (): void => stream.end()
    gone.addEventListener('abort', leave)
    atEnd(() => gone.removeEventListener('abort', leave))
    return c.body(stream.body, 200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  }

  /** Passes on what happens to a key, until the function it answers is called. */
  #pipe(key: string, watched: WatchedKey, stream: EventStream): () => void {
    return watched.follow({
      state: (state) => stream.sendNamed('state', JSON.stringify({ key, ...state })),
      released: () => stream.sendOnce(this.#release(key, watched)),
      unavailable: () => stream.end(),
    })
  }

  #release(key: string, watched: WatchedKey): Uint8Array {
    const message = this.#releases.get(watched) ?? namedEvent('release', JSON.stringify({ key }))
    this.#releases.set(watched, message)
    return message
  }
}
