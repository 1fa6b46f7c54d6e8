import type { Clock } from '@leasehold/core'
import type { Complete } from '../http/complete.ts'
import type { BridgeLimits } from './bridge-options.ts'
import { KeyRate } from './key-rate.ts'
import { ProblemError } from './problem.ts'

interface Places {
  open: number
  /** How many of the open waits and streams are for each key. */
  readonly byKey: Map<string, number>
}

/** Counts the open waits and streams, per client and in total, and the keys that each client asks about. */
export class ClientLimits {
  readonly #most: Complete<BridgeLimits>
  readonly #rate: KeyRate
  readonly #places = new Map<string, Places>()
  #total = 0

  constructor(most: Complete<BridgeLimits>, clock: Clock) {
    this.#most = most
    this.#rate = new KeyRate(most.keysPerSecond, clock)
  }

  /**
   * Takes a place for the client, and one for each of the keys. Returns a function that gives them back.
   *
   * @throws ProblemError (429) if there is none, or the client asks about too many keys in too short a time
   */
  take(client: string, keys: readonly string[]): () => void {
    const places = this.#places.get(client) ?? { open: 0, byKey: new Map() }
    const { total, perClient, perKey } = this.#most
    if (places.open >= perClient || this.#total >= total) {
      throw tooMuch('Too many waits and streams are open')
    }
    // If all of a client's places may be for one key, keys need not be counted.
    const counted = perKey < perClient ? keys : []
    if (counted.some((key) => (places.byKey.get(key) ?? 0) >= perKey)) {
      throw tooMuch('Too many waits and streams of this client are open for the same key')
    }
    const inMs = this.#rate.take(client, keys.length)
    if (inMs !== undefined) throw tooMuch('Too many keys were asked about in a short time', Math.ceil(inMs / 1_000))

    this.#places.set(client, places)
    this.#total++
    places.open++
    for (const key of counted) add(places.byKey, key, 1)
    let given = true
    return () => {
      if (!given) return
      given = false
      this.#total--
      for (const key of counted) add(places.byKey, key, -1)
      if (--places.open === 0) this.#places.delete(client)
    }
  }
}

function add(counts: Map<string, number>, key: string, number: number): void {
  const count = (counts.get(key) ?? 0) + number
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

const tooMuch = (what: string, retryAfter?: number): ProblemError =>
  new ProblemError(429, `${what}; check for yourself and come back later`, undefined, retryAfter)
