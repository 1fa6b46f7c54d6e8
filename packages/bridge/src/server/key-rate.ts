import type { Clock } from '@leasehold/core'
import { mostKeys } from './wait-query.ts'

/** What was not used is saved up for so long. */
const savedMs = 2_500

interface Account {
  /** How many keys are left; less than 0 after a request that was larger than what was left. */
  keys: number
  /** When that was so. */
  atMs: number
}

/**
 * How many keys each client asks about: a token bucket for each.
 *
 * A request is let through when anything is left, and may overdraw, so that a large one has the same chance as many small
 * ones. An account that is full again is as good as none: those that nobody used for so long are dropped, by the generation.
 */
export class KeyRate {
  readonly #keysPerMs: number
  readonly #most: number
  readonly #clock: Clock
  #accounts = new Map<string, Account>()
  /** Those that were used last before the present generation began. */
  #older = new Map<string, Account>()
  #beganMs: number

  constructor(keysPerSecond: number, clock: Clock) {
    this.#keysPerMs = keysPerSecond / 1_000
    this.#most = this.#keysPerMs * savedMs
    this.#clock = clock
    this.#beganMs = clock.monotonicMs()
  }

  /** How many clients are remembered. */
  get size(): number {
    return this.#accounts.size + this.#older.size
  }

  /** Takes so many keys from the client's account; or answers after how many milliseconds that can be done. */
  take(client: string, keys: number): number | undefined {
    const nowMs = this.#clock.monotonicMs()
    this.#forget(nowMs)
    const account = this.#accounts.get(client) ?? this.#older.get(client) ?? { keys: this.#most, atMs: nowMs }
    this.#older.delete(client)
    this.#accounts.set(client, account)
    account.keys = Math.min(this.#most, account.keys + (nowMs - account.atMs) * this.#keysPerMs)
    account.atMs = nowMs
    if (account.keys <= 0) return -account.keys / this.#keysPerMs + 1
    account.keys -= keys
    return undefined
  }

  #forget(nowMs: number): void {
    // Longer than the time in which an account that a stream has overdrawn is full again.
    const generationMs = savedMs + mostKeys / this.#keysPerMs
    if (nowMs - this.#beganMs < generationMs) return
    this.#older = nowMs - this.#beganMs < 2 * generationMs ? this.#accounts : new Map()
    this.#accounts = new Map()
    this.#beganMs = nowMs
  }
}
