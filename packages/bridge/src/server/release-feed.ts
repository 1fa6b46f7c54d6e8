import { backoff, type Clock } from '@leasehold/core'
import type { RedisSubscriber, SubscriberConnection } from '@leasehold/core/redis'
import { RedisProblem } from './redis-problem.ts'

/** How long a connection may take until its subscription is confirmed. */
const connectDeadlineMs = 5_000
/** A connection that only listens does not notice that it is dead: it is asked to confirm its subscription so often. */
const confirmEveryMs = 5_000
/** How long it may take to answer that. */
const confirmDeadlineMs = 2_000
/** The pause between attempts to connect: Redis may be back soon, and one bridge is no herd. */
const pause = backoff({ from: 50, to: 1_000 })

export interface FeedListener {
  released(key: string): void
  /** From now on every release is heard. */
  listening(): void
  /** Releases are missed until the next `listening`. Told each time that an attempt fails. */
  deaf(problem: RedisProblem): void
}

interface Attempt {
  readonly abort: AbortController
  connection?: SubscriberConnection
  stopTimer?: () => void
}

/**
 * All releases under a prefix, over one connection and one pattern, from `start` until `close`.
 *
 * States: *idle* → *connecting* → *listening* → *connecting* again after a loss → *closed*. An attempt is given up for good
 * by whichever comes first (an error, a loss, a deadline), and nothing that it brings later is heard.
 */
export class ReleaseFeed {
  readonly #subscriber: RedisSubscriber
  readonly #clock: Clock
  readonly #listener: FeedListener
  /** The beginning of every release channel, after which comes the key: see protocol §1. */
  readonly #channelPrefix: string
  #attempt: Attempt | undefined
  #stopPause: (() => void) | undefined
  #failures = 0
  #started = false
  #listening = false
  #problem: RedisProblem | undefined
  readonly #waiting = new Set<() => void>()

  constructor(subscriber: RedisSubscriber, clock: Clock, prefix: string, listener: FeedListener) {
    this.#subscriber = subscriber
    this.#clock = clock
    this.#listener = listener
    this.#channelPrefix = `${prefix}release:`
  }

  get isListening(): boolean {
    return this.#listening
  }

  /** Why the last attempt failed, until it listens. */
  get problem(): RedisProblem | undefined {
    return this.#problem
  }

  /** Harmless when called again. */
  start(): void {
    if (this.#started) return
    this.#started = true
    this.#connect()
  }

  /** Whether it listens; waits for that so long at most, and no longer than the signal lets it. */
  async whenListening(limitMs: number, signal: AbortSignal): Promise<boolean> {
    this.start()
    if (this.#listening || signal.aborted) return this.#listening
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stop()
        signal.removeEventListener('abort', done)
        this.#waiting.delete(done)
        resolve()
      }
      const stop = this.#clock.schedule(done, limitMs, 'background')
      signal.addEventListener('abort', done)
      this.#waiting.add(done)
    })
    return this.#listening
  }

  close(): void {
    this.#started = true
    this.#stopPause?.()
    const attempt = this.#attempt
    this.#attempt = undefined
    if (attempt) end(attempt)
    this.#listening = false
    for (const done of [...this.#waiting]) done()
  }

  #connect(): void {
    const attempt: Attempt = { abort: new AbortController() }
    this.#attempt = attempt
    const fail = (what: string, cause?: unknown): void => this.#fail(attempt, new RedisProblem(what, cause))
    const listener = {
      message: (channel: string) => {
        if (attempt === this.#attempt && channel.startsWith(this.#channelPrefix)) {
          this.#listener.released(channel.slice(this.#channelPrefix.length))
        }
      },
      lost: (cause: unknown) => fail('The connection that listens was lost', cause),
    }
    attempt.stopTimer = this.#clock.schedule(() => fail(unconfirmed), connectDeadlineMs, 'background')
    this.#subscriber.connect(listener, attempt.abort.signal).then(
      (connection) => {
        if (attempt !== this.#attempt) return connection.close()
        attempt.connection = connection
        return this.#confirm(attempt, connection)
      },
      (cause) => fail('Redis cannot be reached', cause),
    )
  }

  /** Has the server confirm the subscription. To subscribe again to the same changes nothing there, and is answered. */
  async #confirm(attempt: Attempt, connection: SubscriberConnection): Promise<void> {
    try {
      await connection.psubscribe(`${escapeGlob(this.#channelPrefix)}*`)
    } catch (cause) {
      return this.#fail(attempt, new RedisProblem('Redis refuses the subscription', cause))
    }
    if (attempt !== this.#attempt) return
    attempt.stopTimer?.()
    const again = (): void => {
      const giveUp = (): void => this.#fail(attempt, new RedisProblem(unconfirmed))
      attempt.stopTimer = this.#clock.schedule(giveUp, confirmDeadlineMs, 'background')
      void this.#confirm(attempt, connection)
    }
    attempt.stopTimer = this.#clock.schedule(again, confirmEveryMs, 'background')
    if (this.#listening) return
    this.#listening = true
    this.#problem = undefined
    this.#failures = 0
    for (const done of [...this.#waiting]) done()
    this.#listener.listening()
  }

  #fail(attempt: Attempt, problem: RedisProblem): void {
    if (attempt !== this.#attempt) return
    this.#attempt = undefined
    end(attempt)
    const pauseMs = pause.delayMs(++this.#failures, Math.random())
    this.#stopPause = this.#clock.schedule(() => this.#connect(), pauseMs, 'background')
    this.#listening = false
    this.#problem = problem
    this.#listener.deaf(problem)
  }
}

const unconfirmed = 'Redis does not confirm the subscription'

function end({ abort, connection, stopTimer }: Attempt): void {
  stopTimer?.()
  abort.abort()
  connection?.close()
}

/** A prefix is meant literally, whatever glob characters it has. */
const escapeGlob = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&')
