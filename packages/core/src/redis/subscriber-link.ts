import { backoffMs, jitter } from '../timing/backoff.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import { noAnswer, withDeadline } from '../timing/deadline.ts'
import type { RedisSubscriber, SubscriberConnection } from './redis-subscriber.ts'

/** How long an attempt to connect may take, in milliseconds. */
const connectDeadlineMs = 5_000
/** A connection that only listens does not notice its own death. It is probed after this many ms of silence. */
const probeEveryMs = 5_000
/** How long a command may stay unanswered, in milliseconds. */
const answerDeadlineMs = 2_000
/**
 * This many failed attempts in a row are reported: about half a second if each fails at once. A restart causes fewer.
 */
const reportedAfter = 3

/** The pause before the next attempt to connect, in milliseconds: it doubles from `from` up to `to`, with jitter. */
export interface ReconnectPause {
  readonly from: number
  readonly to: number
}

/** With jitter, because the clients of a restarted server must not all return at the same moment. */
const defaultPause: ReconnectPause = { from: 100, to: 2_000 }

/** The user of a {@link SubscriberLink}. */
export interface LinkUser {
  /** There is a new connection with no subscriptions yet. Subscribe through `ask`. */
  connected(): void
  message(channel: string, payload: string): void
  /** The connection is gone or an attempt to connect has failed, with this cause. The link tries again by itself. */
  lost(cause: unknown): void
  /**
   * The connection has been quiet for 5 s. Ask the server something through `ask`: an answer shows that the connection
   * is alive. Repeating a subscription is enough, and also shows that the subscription still stands.
   */
  probe(): void
  /** Several attempts in a row have failed, or the connection has gone silent. The cause is for the operator. */
  troubled(cause: Error): void
}

/** The outcome of a command. `lost`: there was no connection, or it was lost before the answer came. */
export type LinkAnswer =
  | { readonly type: 'confirmed' }
  | { readonly type: 'refused'; readonly cause: unknown }
  | { readonly type: 'lost' }

/** An attempt to connect, and the connection that resulted. */
interface Attempt {
  readonly gone: AbortController
  connection?: SubscriberConnection
  /** The server has answered a command on it. */
  answered?: true
}

/**
 * Keeps one connection that only listens: it reconnects, lets its user subscribe again, and notices silence.
 *
 * States: *idle* → *connecting* → *connected*. After a failure or a loss, while the link is wanted: *pausing* →
 * *connecting*. From any state: *closed*. A connection that nobody wants at present is kept, but neither probed nor
 * replaced. An attempt ends for good with its first error, loss or missed deadline, and whatever it yields after that
 * is ignored.
 *
 * Does nothing before the first `want(true)`.
 */
export class SubscriberLink {
  readonly #subscriber: RedisSubscriber
  readonly #clock: Clock
  readonly #user: LinkUser
  readonly #pauseMs: ReconnectPause
  #attempt: Attempt | undefined
  #wanted = false
  #closed = false
  #failures = 0
  /** The number of signs of life so far. */
  #signs = 0
  /** When the last one was, in monotonic milliseconds. */
  #lastSignMs = 0
  #stopPause: (() => void) | undefined
  #stopProbing: (() => void) | undefined

  constructor(subscriber: RedisSubscriber, clock: Clock, user: LinkUser, pauseMs: ReconnectPause = defaultPause) {
    this.#subscriber = subscriber
    this.#clock = clock
    this.#user = user
    this.#pauseMs = pauseMs
  }

  /** The last attempt has failed, and the next one has not begun. */
  get isPausing(): boolean {
    return this.#stopPause !== undefined
  }

  /** Sets whether anybody needs the messages. While nobody does, a lost connection is not replaced. */
  want(wanted: boolean): void {
    if (this.#closed || wanted === this.#wanted) return
    this.#wanted = wanted
    if (!wanted) this.#stopProbing?.()
    else if (this.#attempt?.connection) this.#keepProbing()
    else if (!this.#attempt && !this.isPausing) this.#connect()
  }

  /**
   * Runs a command. A connection that does not answer within 2 s counts as dead and is replaced, unless messages keep
   * coming in. Never rejects.
   */
  async ask(command: (connection: SubscriberConnection) => Promise<void>): Promise<LinkAnswer> {
    const attempt = this.#attempt
    if (!attempt?.connection) return { type: 'lost' }
    const pending = command(attempt.connection).then(
      (): LinkAnswer => ({ type: 'confirmed' }),
      (cause: unknown): LinkAnswer => ({ type: 'refused', cause }),
    )
    let answer: LinkAnswer | undefined
    let signs: number
    do {
      signs = this.#signs
      const answered = withDeadline(this.#clock, answerDeadlineMs, () => pending, undefined, attempt.gone.signal)
      answer = await answered.catch((): LinkAnswer => ({ type: 'lost' }))
      if (attempt !== this.#attempt) return { type: 'lost' }
    } while (!answer && signs !== this.#signs)
    if (!answer) {
      this.#end(attempt, new Error(`The connection has not answered for ${answerDeadlineMs} ms`), true)
      return { type: 'lost' }
    }
    attempt.answered = true
    this.#failures = 0
    this.#noteSign()
    return answer
  }

  /** Runs a command whose answer nobody needs. It is lost only if the connection is. */
  tell(command: (connection: SubscriberConnection) => Promise<void>): void {
    const { connection } = this.#attempt ?? {}
    if (connection) command(connection).catch(() => undefined)
  }

  /** Ends the connection for good. The user is not called after this. */
  close(): void {
    this.#closed = true
    this.#stopPause?.()
    this.#stopProbing?.()
    const attempt = this.#attempt
    this.#attempt = undefined
    attempt?.gone.abort()
    attempt?.connection?.close()
  }

  #connect(): void {
    const attempt: Attempt = { gone: new AbortController() }
    this.#attempt = attempt
    const listener = {
      message: (channel: string, payload: string) => {
        if (attempt !== this.#attempt) return
        this.#noteSign()
        this.#user.message(channel, payload)
      },
      lost: (cause?: unknown) => this.#end(attempt, cause ?? new Error('The connection was closed')),
    }
    const connect = ({ signal }: CallDeadline): Promise<SubscriberConnection> =>
      this.#subscriber.connect(listener, signal)
    const late = (connection: SubscriberConnection): void => connection.close()
    withDeadline(this.#clock, connectDeadlineMs, connect, late, attempt.gone.signal).then(
      (connection) => {
        if (connection !== noAnswer) this.#connected(attempt, connection)
        else this.#end(attempt, new Error(`There was no connection within ${connectDeadlineMs} ms`), true)
      },
      (cause: unknown) => this.#end(attempt, cause),
    )
  }

  #connected(attempt: Attempt, connection: SubscriberConnection): void {
    if (attempt !== this.#attempt) {
      connection.close()
      return
    }
    attempt.connection = connection
    this.#noteSign()
    this.#user.connected()
    if (this.#wanted) this.#keepProbing()
  }

  #noteSign(): void {
    this.#signs++
    this.#lastSignMs = this.#clock.monotonicMs()
  }

  #keepProbing(): void {
    const quietMs = this.#clock.monotonicMs() - this.#lastSignMs
    // A timer may fire a fraction of a millisecond early, and would then be set again for that fraction alone.
    const isDue = quietMs > probeEveryMs - 1
    const nextMs = isDue ? probeEveryMs : probeEveryMs - quietMs
    this.#stopProbing = this.#clock.schedule(() => this.#keepProbing(), nextMs, 'background')
    if (isDue) this.#user.probe()
  }

  /** @param silent nothing reported the end of the connection, so it may have been dead for a while */
  #end(attempt: Attempt, cause: unknown, silent = false): void {
    if (attempt !== this.#attempt) return
    this.#attempt = undefined
    attempt.gone.abort()
    attempt.connection?.close()
    this.#stopProbing?.()
    if (!attempt.answered) this.#failures++
    if (this.#wanted) this.#pause()
    this.#user.lost(cause)
    if (silent || this.#failures >= reportedAfter) this.#user.troubled(troubleBy(cause))
  }

  /** Reconnects after a pause if the link is still wanted then. If it is wanted only later, connects at that moment. */
  #pause(): void {
    const again = (): void => {
      this.#stopPause = undefined
      if (this.#wanted) this.#connect()
    }
    const pauseMs = backoffMs(this.#pauseMs.from, this.#pauseMs.to, this.#failures + 1, jitter())
    this.#stopPause = this.#clock.schedule(again, pauseMs, 'background')
  }
}

function troubleBy(cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Error(`Releases are not heard, so waiters check by themselves: ${reason}`, { cause })
}
