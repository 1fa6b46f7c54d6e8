import type { Clock } from '@leasehold/core'
import { jitter } from '@leasehold/core/adapter'
import { FairTurns } from './fair-turns.ts'
import type { Check } from './paced-check.ts'
import { WatchedKey, type WatchedKeyOptions } from './watched-key.ts'

/**
 * How long a key that nobody waits for is remembered, in milliseconds: the next poll of its waiter may be about to
 * come.
 */
const lingerMs = 5_000

export interface WatchedKeysOptions {
  readonly clock: Clock
  readonly check: Check
}

interface Entry {
  readonly watched: WatchedKey
  stopLinger: (() => void) | undefined
}

/** The keys that somebody waits for, or did a moment ago. */
export class WatchedKeys {
  readonly #options: WatchedKeyOptions
  readonly #entries = new Map<string, Entry>()

  constructor({ clock, check }: WatchedKeysOptions) {
    this.#options = { clock, check, turns: new FairTurns(clock) }
  }

  /** The number of keys: 0 once everyone has gone and a few seconds have passed. */
  get size(): number {
    return this.#entries.size
  }

  /** The key, for somebody who is about to wait for it. */
  get(key: string): WatchedKey {
    const entry = this.#entries.get(key) ?? this.#open(key)
    entry.stopLinger?.()
    entry.stopLinger = undefined
    return entry.watched
  }

  released(key: string): void {
    this.#entries.get(key)?.watched.released()
  }

  turn(key: string, waiter: string): void {
    this.#entries.get(key)?.watched.turn(waiter)
  }

  /** Releases may have been missed: checks every key that somebody waits for, spread over `spreadMs`. */
  checkAgain(spreadMs: number): void {
    for (const { watched } of [...this.#entries.values()]) watched.checkAgain(jitter() * spreadMs)
  }

  dismiss(): void {
    for (const { watched } of [...this.#entries.values()]) watched.dismiss()
  }

  /** Sends all waiters and followers away, and forgets all keys. */
  close(): void {
    this.dismiss()
    for (const { stopLinger } of this.#entries.values()) stopLinger?.()
    this.#entries.clear()
  }

  #open(key: string): Entry {
    const { clock } = this.#options
    const onIdle = (): void => {
      entry.stopLinger?.()
      entry.stopLinger = clock.schedule(() => this.#entries.delete(key), lingerMs, 'background')
    }
    const entry: Entry = {
      watched: new WatchedKey(key, this.#options, onIdle),
      stopLinger: undefined,
    }
    this.#entries.set(key, entry)
    return entry
  }
}
