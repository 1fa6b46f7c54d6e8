import type { LeaseStore } from '@leasehold/core/adapter'
import { queueOf } from '@leasehold/core/queue'
import type { CheckedOptions } from './bridge-options.ts'
import { gatherMs, mostKeysPerCall } from './check-lane.ts'
import { CheckQueue } from './check-queue.ts'
import { PlaceKeeper } from './place-keeper.ts'
import { ProblemError } from './problem.ts'
import type { RedisProblem } from './redis-problem.ts'
import { ReleaseFeed } from './release-feed.ts'
import type { WatchedKey } from './watched-key.ts'
import { WatchedKeys } from './watched-keys.ts'

/** How long waiters are kept while the connection is lost, and how long a new waiter waits for it, in milliseconds. */
const disconnectedGraceMs = 2_000
/**
 * How long `/readyz` waits for a connection that has recently been lost, in milliseconds: it should report the reason
 * soon.
 */
const blipMs = 250
/** How long one check of whether Redis answers serves all who ask, in milliseconds. */
const reachableForMs = 1_000
/** The time within which all keys are checked after a reconnect, in milliseconds, however many there are. */
const longestSpreadMs = 5_000
/**
 * The key to check when only getting an answer matters. A check needs the same permissions whether the lock is held or
 * free.
 */
const probeKey = 'leasehold-bridge-readiness'

/**
 * What all requests share: the one subscriber connection, and the keys that somebody waits for.
 *
 * If the connection is lost and soon back, each key is checked once. If it stays lost, all waiters are sent away:
 * otherwise they would rely on a bridge that hears nothing.
 */
export class ReleaseWatch {
  readonly #options: CheckedOptions
  readonly #checks: CheckQueue
  readonly #feed: ReleaseFeed
  readonly #keys: WatchedKeys
  /** Undefined for a store without queues. */
  readonly places: PlaceKeeper | undefined
  #wasListening = false
  #stopGrace: (() => void) | undefined
  #closed = false
  #probe: { readonly untilMs: number; readonly answer: Promise<string | undefined> } | undefined

  constructor(options: CheckedOptions) {
    const { store, subscriber, clock, prefix, onEvent } = options
    this.#options = options
    this.#checks = new CheckQueue({ store, clock, onEvent })
    this.#keys = new WatchedKeys({ clock, check: this.#checks.check })
    const queue = queueOf(store as LeaseStore)
    this.places = queue && new PlaceKeeper({ queue, store, clock, onEvent })
    this.#feed = new ReleaseFeed(subscriber, clock, prefix, {
      released: (key) => {
        onEvent({ type: 'release-seen' })
        this.#keys.released(key)
        this.places?.released(key)
      },
      turn: (key, waiter) => {
        onEvent({ type: 'turn-seen' })
        this.#keys.turn(key, waiter)
        this.places?.turn(key, waiter)
      },
      listening: () => this.#onListening(),
      disconnected: (problem) => this.#onDisconnected(problem),
    })
  }

  /**
   * Resolves with the function that finds a key for somebody who is about to wait for it.
   *
   * @throws ProblemError (503) if no release would be heard now
   */
  async listenFor(gone: AbortSignal): Promise<(key: string) => WatchedKey> {
    if (!this.#closed && (await this.#feed.whenListening(disconnectedGraceMs, gone)) && !this.#closed) {
      return (key) => this.#keys.get(key)
    }
    throw new ProblemError(503, 'The bridge hears no releases now; check for yourself and come back')
  }

  /**
   * Why the bridge cannot report releases now, safe to show to anybody; undefined if it listens and the store answers.
   */
  async whyNotReady(gone: AbortSignal): Promise<string | undefined> {
    const { problem } = this.#feed
    if (!(await this.#feed.whenListening(problem ? blipMs : disconnectedGraceMs, gone)) || this.#closed) {
      if (this.#closed) return 'The bridge is stopping'
      return (this.#feed.problem ?? problem)?.publicMessage ?? 'Redis has not confirmed the subscription yet'
    }
    const nowMs = this.#options.clock.monotonicMs()
    if (!this.#probe || nowMs >= this.#probe.untilMs) {
      this.#probe = { untilMs: nowMs + reachableForMs, answer: this.#whyNoAnswer() }
    }
    return this.#probe.answer
  }

  /** Tells all waiters to come back, and ends the connection. */
  close(): void {
    this.#closed = true
    this.#stopGrace?.()
    this.#feed.close()
    this.#keys.close()
    this.places?.close()
  }

  async #whyNoAnswer(): Promise<string | undefined> {
    const seen = await this.#checks.check(probeKey, 'readiness')
    if (seen.type === 'checked') return undefined
    return (seen.type === 'unavailable' && seen.problem?.publicMessage) || 'Redis does not answer checks'
  }

  #onListening(): void {
    this.#stopGrace?.()
    this.#stopGrace = undefined
    this.#options.onEvent({ type: 'listening' })
    // As fast as the calls of the lanes can take them.
    const spreadMs = gatherMs * Math.ceil(this.#keys.size / mostKeysPerCall)
    if (this.#wasListening) {
      this.#keys.checkAgain(Math.min(spreadMs, longestSpreadMs))
      this.places?.lookAgain()
    }
    this.#wasListening = true
  }

  #onDisconnected(problem: RedisProblem): void {
    this.#options.onEvent({ type: 'disconnected', problem })
    // The grace counts from the loss, however many attempts have failed since.
    this.#stopGrace ??= this.#options.clock.schedule(() => this.#dismiss(), disconnectedGraceMs, 'background')
  }

  #dismiss(): void {
    this.#keys.dismiss()
    this.places?.dismiss()
  }
}
