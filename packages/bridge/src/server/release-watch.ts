import type { CheckedOptions } from './bridge-options.ts'
import { countedLook, type Look } from './paced-look.ts'
import { ReleaseFeed } from './release-feed.ts'
import type { WatchedKey } from './watched-key.ts'
import { WatchedKeys } from './watched-keys.ts'

/** How long those who wait are kept, and a new one waits, for a lost connection to be back. */
const deafGraceMs = 2_000
/** After a connection is back every key is looked at, spread over so long. */
const lookAgainSpreadMs = 250
/** An answer to whether Redis can be asked is good for so long, however many ask. */
const reachableForMs = 1_000
/** Asked for when nothing but an answer is wanted. */
const probeKey = 'leasehold-bridge-readiness'

/**
 * What all requests share: the one connection that listens, and the keys that are waited for.
 *
 * A connection that is lost and soon back costs those who wait a look. If it stays away they are sent off, because
 * whoever is told nothing relies on a bridge that hears nothing.
 */
export class ReleaseWatch {
  readonly #options: CheckedOptions
  readonly #look: Look
  readonly #feed: ReleaseFeed
  readonly #keys: WatchedKeys
  #wasListening = false
  #stopGrace: (() => void) | undefined
  #closed = false
  #probe: { readonly untilMs: number; readonly isReachable: Promise<boolean> } | undefined

  constructor(options: CheckedOptions) {
    const { store, subscriber, clock, prefix, onEvent } = options
    this.#options = options
    this.#look = countedLook(store, clock, onEvent)
    this.#keys = new WatchedKeys({ clock, look: this.#look })
    this.#feed = new ReleaseFeed(subscriber, clock, prefix, {
      released: (key) => {
        onEvent({ type: 'release-seen' })
        this.#keys.released(key)
      },
      listening: () => this.#onListening(),
      deaf: (problem) => this.#onDeaf(problem),
    })
  }

  /** Answers what finds a key for somebody who is about to wait for it; undefined if no release would be heard now. */
  async listenFor(gone: AbortSignal): Promise<((key: string) => WatchedKey) | undefined> {
    if (this.#closed || !(await this.#feed.whenListening(deafGraceMs, gone)) || this.#closed) return undefined
    return (key) => this.#keys.get(key)
  }

  /** Whether it listens, and the store answers. */
  async isReady(gone: AbortSignal): Promise<boolean> {
    if (!(await this.listenFor(gone))) return false
    const nowMs = this.#options.clock.monotonicMs()
    if (!this.#probe || nowMs >= this.#probe.untilMs) {
      const isReachable = this.#look(probeKey, 'readiness').then(({ type }) => type === 'looked')
      this.#probe = { untilMs: nowMs + reachableForMs, isReachable }
    }
    return this.#probe.isReachable
  }

  /** Tells everyone who waits to come back, and ends the connection. */
  close(): void {
    this.#closed = true
    this.#stopGrace?.()
    this.#feed.close()
    this.#keys.close()
  }

  #onListening(): void {
    this.#stopGrace?.()
    this.#stopGrace = undefined
    this.#options.onEvent({ type: 'listening' })
    if (this.#wasListening) this.#keys.lookAgain(lookAgainSpreadMs)
    this.#wasListening = true
  }

  #onDeaf(problem: Error): void {
    this.#options.onEvent({ type: 'deaf', problem })
    this.#stopGrace = this.#options.clock.schedule(() => this.#keys.dismiss(), deafGraceMs, 'background')
  }
}
