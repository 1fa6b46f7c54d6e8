import type { Context } from 'hono'
import { withJitterInSteps } from '../http/jitter.ts'
import { UnreadTotal } from '../http/unread-total.ts'
import type { CheckedOptions } from './bridge-options.ts'
import { KeyStream, ReleaseMessages } from './key-stream.ts'
import { noStore, ProblemError } from './problem.ts'
import type { ReleaseWatch } from './release-watch.ts'

/**
 * The longest that a stream stays open, in milliseconds; then its reader reconnects. Otherwise a half-open connection,
 * which accepts writes for a long time, would keep its stream forever.
 */
const longestStreamMs = 900_000
/** The share of that time that is random, so that streams that began together do not end together. */
const jitterShare = 0.1
const stepMs = 1_000

interface StreamRequest {
  readonly keys: readonly string[]
  /** The inboxes whose waiters' turns the stream reports too. */
  readonly inboxes?: readonly string[]
  /** How long its reader is allowed to listen, in milliseconds. */
  readonly expiresInMs: number | undefined
  /** Called once, when the stream has ended. Not called if opening it was refused. */
  readonly onEnd: () => void
}

/** The open event streams, and how to open another. */
export class KeyStreams {
  readonly #options: CheckedOptions
  readonly #watch: Pick<ReleaseWatch, 'listenFor'>
  readonly #open = new Set<KeyStream>()
  readonly #unreadTotal = new UnreadTotal()
  readonly #messages = new ReleaseMessages()

  constructor(options: CheckedOptions, watch: Pick<ReleaseWatch, 'listenFor'>) {
    this.#options = options
    this.#watch = watch
  }

  /**
   * Sends the headers at once. The state of each key follows as soon as it is known.
   *
   * @throws ProblemError (503) if no release would be heard now, or the client has left
   */
  async answer(c: Context, { keys, inboxes = [], expiresInMs, onEnd }: StreamRequest): Promise<Response> {
    const { clock, heartbeatMs } = this.#options
    const gone = c.req.raw.signal
    const watched = await this.#watch.listenFor(gone)
    if (gone.aborted) throw new ProblemError(503, 'The client has left')
    const stream = new KeyStream({
      clock,
      heartbeatMs,
      lifetimeMs: Math.min(expiresInMs ?? longestStreamMs, withJitterInSteps(longestStreamMs, jitterShare, stepMs)),
      unreadTotal: this.#unreadTotal,
      messages: this.#messages,
      gone,
      onEnd: (ended) => {
        this.#open.delete(ended)
        onEnd()
        this.#tellHowMany()
      },
    })
    this.#open.add(stream)
    this.#tellHowMany()
    stream.begin(keys, inboxes, watched)
    return c.body(stream.body, 200, {
      ...noStore,
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
    })
  }

  #tellHowMany(): void {
    this.#options.onEvent({ type: 'streams', open: this.#open.size })
  }
}
