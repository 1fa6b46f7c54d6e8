import type { Clock } from '@leasehold/core'
import {
  backoffMs,
  jitter,
  keyLayout,
  releasePattern,
  SignalCount,
  SubscriberLink,
  sleep,
} from '@leasehold/core/adapter'
import type { RedisSubscriber } from '@leasehold/core/redis'
import { RedisProblem } from './redis-problem.ts'

/**
 * The pause between attempts to connect or to subscribe, in milliseconds: Redis may be back soon, and bridges are few.
 */
const pauseMs = { from: 50, to: 1_000 }

/** The prefix of messages that are not releases: the turn of a waiter that nobody else listens for. */
const turn = 'turn '

export interface FeedSubscriber {
  released(key: string): void
  /** A waiter in the queue of the lock has been given its turn. It concerns nobody else. */
  turn(key: string, waiter: string): void
  /** From now on every release is heard. */
  listening(): void
  /** Releases are missed until the next `listening`. Called again for each further failed attempt. */
  disconnected(problem: RedisProblem): void
}

/**
 * All releases under a prefix, over one connection and one pattern, from `start` until `close`.
 *
 * States: *idle* → *disconnected* ⇄ *listening* → *closed*. A `SubscriberLink` makes, probes and replaces the
 * connection. A subscription that Redis refuses is retried on the same connection, since permissions may change.
 */
export class ReleaseFeed {
  readonly #clock: Clock
  readonly #subscriber: FeedSubscriber
  readonly #link: SubscriberLink
  readonly #pattern: string
  /** Whether there is a connection, subscribed or not. */
  #hasConnection = false
  #isListening = false
  #problem: RedisProblem | undefined
  /** The number of refusals in a row. */
  #refusals = 0
  #stopRetry: (() => void) | undefined
  /** Counts how many times it began to listen, and wakes those who wait for that. */
  readonly #begun = new SignalCount()

  constructor(connections: RedisSubscriber, clock: Clock, prefix: string, subscriber: FeedSubscriber) {
    const layout = keyLayout(prefix)
    const channelPrefix = layout.releaseChannel('')
    const message = (channel: string, payload: string): void => {
      if (!channel.startsWith(channelPrefix)) return
      const key = channel.slice(channelPrefix.length)
      if (payload.startsWith(turn)) subscriber.turn(key, payload.slice(turn.length))
      else subscriber.released(key)
    }
    const user = {
      connected: () => this.#connected(),
      message,
      lost: (cause: unknown) => this.#lost(cause),
      probe: () => void this.#subscribe(),
      // `lost` has already reported it.
      troubled: () => undefined,
    }
    this.#clock = clock
    this.#subscriber = subscriber
    this.#pattern = releasePattern(layout)
    this.#link = new SubscriberLink(connections, clock, user, pauseMs)
  }

  get isListening(): boolean {
    return this.#isListening
  }

  /** Why the last attempt failed; undefined once it listens. */
  get problem(): RedisProblem | undefined {
    return this.#problem
  }

  /** Harmless when called again. */
  start(): void {
    this.#link.want(true)
  }

  /** Resolves with whether it listens. Waits for that up to `limitMs`, or until the signal is aborted. */
  async whenListening(limitMs: number, signal: AbortSignal): Promise<boolean> {
    this.start()
    if (!this.#isListening) {
      const begins = (wake: () => void): (() => void) => this.#begun.onSignal(this.#begun.signals, wake)
      try {
        await sleep(this.#clock, limitMs, signal, begins)
      } catch (error) {
        if (!signal.aborted) throw error
      }
    }
    return this.#isListening
  }

  close(): void {
    this.#link.close()
    this.#stopRetry?.()
    this.#isListening = false
    this.#begun.add()
  }

  #connected(): void {
    this.#hasConnection = true
    void this.#subscribe()
  }

  #lost(cause: unknown): void {
    const what = this.#hasConnection ? 'The connection that listens was lost' : 'Redis cannot be reached'
    this.#hasConnection = false
    this.#disconnected(new RedisProblem(what, cause))
  }

  /** Subscribes. Repeating it changes nothing on the server, but the server answers, so this is also the probe. */
  async #subscribe(): Promise<void> {
    this.#stopRetry?.()
    const answer = await this.#link.ask((connection) => connection.psubscribe(this.#pattern))
    if (answer.type === 'confirmed') this.#confirmed()
    else if (answer.type === 'refused') this.#refused(answer.cause)
  }

  #confirmed(): void {
    this.#refusals = 0
    if (this.#isListening) return
    this.#isListening = true
    this.#problem = undefined
    this.#begun.add()
    this.#subscriber.listening()
  }

  #refused(cause: unknown): void {
    const delayMs = backoffMs(pauseMs.from, pauseMs.to, ++this.#refusals, jitter())
    this.#stopRetry = this.#clock.schedule(() => void this.#subscribe(), delayMs, 'background')
    this.#disconnected(new RedisProblem('Redis refuses the subscription', cause))
  }

  #disconnected(problem: RedisProblem): void {
    this.#isListening = false
    this.#problem = problem
    this.#subscriber.disconnected(problem)
  }
}
