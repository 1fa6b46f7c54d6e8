import type { Context } from 'hono'
import { EventStream } from '../http/event-stream.ts'
import { sooner } from '../http/sooner.ts'
import type { CheckedOptions } from './bridge-options.ts'
import { problem } from './problem.ts'
import type { ReleaseWatch } from './release-watch.ts'
import type { WatchedKey } from './watched-key.ts'

/** What a reader may leave unread, in bytes: the states of the most keys a stream can have, several times. */
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
  readonly #watch: ReleaseWatch
  readonly #open = new Set<EventStream>()

  constructor(options: CheckedOptions, watch: ReleaseWatch) {
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
    for (const key of keys) ends.push(pipe(key, watched(key), stream))
    const lifetimeMs = Math.min(expiresInMs ?? longestStreamMs, sooner(longestStreamMs, 0.1))
    ends.push(clock.schedule(() => stream.end(), lifetimeMs, 'background'))
    const leave = (): void => stream.end()
    gone.addEventListener('abort', leave)
    ends.push(() => gone.removeEventListener('abort', leave))
    return c.body(stream.body, 200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  }
}

/** Passes on what happens to a key, until the function it answers is called. */
const pipe = (key: string, watched: WatchedKey, stream: EventStream): (() => void) =>
  watched.follow({
    state: (state) => stream.sendNamed('state', JSON.stringify({ key, ...state })),
    released: () => stream.sendNamed('release', JSON.stringify({ key })),
    unavailable: () => stream.end(),
  })
