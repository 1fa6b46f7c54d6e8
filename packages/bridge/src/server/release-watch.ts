import type { CheckedOptions } from './bridge-options.ts'
import { gatherMs, mostKeysPerCall } from './check-lane.ts'
import { CheckQueue } from './check-queue.ts'
import { ProblemError } from './problem.ts'
import type { RedisProblem } from './redis-problem.ts'
import { ReleaseFeed } from './release-feed.ts'
import type { WatchedKey } from './watched-key.ts'
import { WatchedKeys } from './watched-keys.ts'

/** How long those who wait are kept, and a new one waits, for a lost connection to be back. */
const disconnectedGraceMs = 2_000
/** How long whoever asks for readiness waits for that: those who ask are in a hurry, and want to know the reason. */
const blipMs = 250
/** An answer to whether Redis can be asked is good for so long, however many ask. */
const reachableForMs = 1_000
/** Keys are checked again within so long after a reconnect, however many they are. */
const longestSpreadMs = 5_000
/** Asked for when nothing but an answer is wanted. To check a lock needs the same permissions whether it is held or free. */
const probeKey = 'leasehold-bridge-readiness'

/**
 * What all requests share: the one connection that listens, and the keys that are waited for.
 *
 * A connection that is lost and soon back costs those who wait a check. If it stays away they are sent off, because
 * whoever is told nothing relies on a bridge that hears nothing.
 */
export class ReleaseWatch {
  readonly #options: CheckedOptions
  readonly #checks: CheckQueue
  readonly #feed: ReleaseFeed
  readonly #keys: WatchedKeys
  #wasListening = false
  #stopGrace: (() => void) | undefined
  #closed = false
  #probe: { readonly untilMs: number; readonly answer: Promise<string | undefined> } | undefined

  constructor(options: CheckedOptions) {
    const { store, subscriber, clock, prefix, onEvent } = options
    this.#options = options
    this.#checks = new CheckQueue({ store, clock, onEvent })
    this.#keys = new WatchedKeys({ clock, check: this.#checks.check })
    this.#feed = new ReleaseFeed(subscriber, clock, prefix, {
      released: (key) => {
        onEvent({ type: 'release-seen' })
        this.#keys.released(key)
      },
      listening: () => this.#onListening(),
      disconnected: (problem) => this.#onDisconnected(problem),
    })
  }

  /**
   * Answers what finds a key for somebody who is about to wait for it.
   *
   * @throws ProblemError (503) if no release would be heard now
   */
  async listenFor(gone: AbortSignal): Promise<(key: string) => WatchedKey> {
    if (!this.#closed && (await this.#feed.whenListening(disconnectedGraceMs, gone)) && !this.#closed) {
      return (key) => this.#keys.get(key)
    }
    throw new ProblemError(503, 'The bridge hears of no release now; look for yourself and come back')
  }

  /** Why releases cannot be told of now, for anybody to read; undefined if it listens and the store answers. */
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

  /** Tells everyone who waits to come back, and ends the connection. */
  close(): void {
    this.#closed = true
    this.#stopGrace?.()
    this.#feed.close()
    this.#keys.close()
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
    // No sooner than the store can be asked about them.
    const spreadMs = gatherMs * Math.ceil(this.#keys.size / mostKeysPerCall)
    if (this.#wasListening) this.#keys.checkAgain(Math.min(spreadMs, longestSpreadMs))
    this.#wasListening = true
  }

  #onDisconnected(problem: RedisProblem): void {
    this.#options.onEvent({ type: 'disconnected', problem })
    // It counts from the loss, however many attempts fail since.
    this.#stopGrace ??= this.#options.clock.schedule(() => this.#keys.dismiss(), disconnectedGraceMs, 'background')
  }
}
