import { backoffMs, jitter } from '../timing/backoff.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import { noAnswer, withDeadline } from '../timing/deadline.ts'
import type { RedisSubscriber, SubscriberConnection } from './redis-subscriber.ts'

/** Between attempts to connect, doubling, with jitter, in milliseconds. */
const reconnectMs = { from: 100, to: 2_000 }
/** How long an attempt to connect may take. */
const connectDeadlineMs = 5_000
/** A connection that only listens does not notice that it is dead: after so long without a sign of life it is asked. */
const probeEveryMs = 5_000
/** How long it may take to answer. */
const answerDeadlineMs = 2_000
/** So many failed attempts in a row are told; fewer are a restart. About half a second, if each fails at once. */
const toldAfter = 3

/** Whoever listens by the link. */
export interface LinkUser {
  /** There is a connection, on which nothing is subscribed yet. */
  connected(): void
  message(channel: string, payload: string): void
  /** There is no connection any more, or the attempt to make one has failed. */
  lost(): void
  /** Has to ask the server something now: an answer shows that the connection is alive. */
  probe(): void
  /** It does not come back by itself, or did not say that it was gone. */
  troubled(cause: Error): void
}

/** What became of a command. `lost`: there is no connection, or it is gone before the answer. */
export type LinkAnswer =
  | { readonly type: 'confirmed' }
  | { readonly type: 'refused'; readonly cause: unknown }
  | { readonly type: 'lost' }

/** An attempt to connect, and the connection that came of it. */
interface Attempt {
  readonly gone: AbortController
  connection?: SubscriberConnection
  /** The server has answered something on it. */
  answered?: true
}

/**
 * One connection that listens, kept while it is wanted.
 *
 * States: *idle* → *connecting* → *connected* → *pausing* → *connecting* again after a failure or a loss, while it is
 * wanted → *closed*. A connection that nobody wants for a while is kept, but neither probed nor made anew. An attempt is
 * given up for good by whichever comes first (an error, a loss, a deadline), and nothing that it brings later is heard.
 */
export class SubscriberLink {
  readonly #subscriber: RedisSubscriber
  readonly #clock: Clock
  readonly #user: LinkUser
  #attempt: Attempt | undefined
  #wanted = false
  #closed = false
  #failures = 0
  /** Signs of life: how many, and when the last was. */
  #signs = 0
  #lastSignMs = 0
  #stopPause: (() => void) | undefined
  #stopProbing: (() => void) | undefined

  constructor(subscriber: RedisSubscriber, clock: Clock, user: LinkUser) {
    this.#subscriber = subscriber
    this.#clock = clock
    this.#user = user
  }

  /** It has failed, and the next attempt is yet to begin. */
  get isPausing(): boolean {
    return this.#stopPause !== undefined
  }

  /** Whether anybody waits for what it brings. */
  want(wanted: boolean): void {
    if (this.#closed || wanted === this.#wanted) return
    this.#wanted = wanted
    if (!wanted) this.#stopProbing?.()
    else if (this.#attempt?.connection) this.#keepProbing()
    else if (!this.#attempt && !this.isPausing) this.#connect()
  }

  /** Runs a command. An answer that does not come in time shows that the connection is dead, unless it goes on bringing messages. */
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

  /** Runs a command whose answer nobody needs. Should it get lost, it is lost with the connection. */
  tell(command: (connection: SubscriberConnection) => Promise<void>): void {
    const { connection } = this.#attempt ?? {}
    if (connection) command(connection).catch(() => undefined)
  }

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
    // Fractions of a millisecond would have it spin.
    const isDue = quietMs > probeEveryMs - 1
    const nextMs = isDue ? probeEveryMs : probeEveryMs - quietMs
    this.#stopProbing = this.#clock.schedule(() => this.#keepProbing(), nextMs, 'background')
    if (isDue) this.#user.probe()
  }

  /** @param silent it gave no sign, so it may have been like that for long */
  #end(attempt: Attempt, cause: unknown, silent = false): void {
    if (attempt !== this.#attempt) return
    this.#attempt = undefined
    attempt.gone.abort()
    attempt.connection?.close()
    this.#stopProbing?.()
    if (!attempt.answered) this.#failures++
    if (this.#wanted) this.#pause()
    this.#user.lost()
    if (silent || this.#failures >= toldAfter) this.#user.troubled(troubleBy(cause))
  }

  /** Connects again after a while, if anybody wants it then; who asks later connects at once. */
  #pause(): void {
    const again = (): void => {
      this.#stopPause = undefined
      if (this.#wanted) this.#connect()
    }
    const pauseMs = backoffMs(reconnectMs.from, reconnectMs.to, this.#failures + 1, jitter())
    this.#stopPause = this.#clock.schedule(again, pauseMs, 'background')
  }
}

function troubleBy(cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Error(`Releases are not heard, so waiters check by themselves: ${reason}`, { cause })
}
