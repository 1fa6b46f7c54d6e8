import type { Clock } from '@leasehold/core'
import { mostKeys } from './wait-query.ts'

/** How long a client's unused allowance accumulates, in milliseconds. */
const savedMs = 2_500

interface Account {
  /** How many keys are left; negative after a request for more than were left. */
  keys: number
  /** When `keys` was counted, in monotonic milliseconds. */
  atMs: number
}

/**
 * Limits how many keys each client asks about: a token bucket per client.
 *
 * A request passes if anything is left, and may overdraw, so a large request has the same chance as many small ones. A
 * full account is the same as no account, so accounts unused for long enough to be full are dropped, a generation at a
 * time.
 */
export class KeyRate {
  readonly #keysPerMs: number
  readonly #most: number
  readonly #clock: Clock
  #accounts = new Map<string, Account>()
  /** Accounts that were last used before the current generation began. */
  #older = new Map<string, Account>()
  #beganMs: number

  constructor(keysPerSecond: number, clock: Clock) {
    this.#keysPerMs = keysPerSecond / 1_000
    this.#most = this.#keysPerMs * savedMs
    this.#clock = clock
    this.#beganMs = clock.monotonicMs()
  }

  /** How many clients have an account. */
  get size(): number {
    return this.#accounts.size + this.#older.size
  }

  /**
   * Takes this many keys from the client's account. If nothing is left, returns the milliseconds until there will be.
   */
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
    // Long enough for an account to refill after the largest stream has overdrawn it.
    const generationMs = savedMs + mostKeys / this.#keysPerMs
    if (nowMs - this.#beganMs < generationMs) return
    this.#older = nowMs - this.#beganMs < 2 * generationMs ? this.#accounts : new Map()
    this.#accounts = new Map()
    this.#beganMs = nowMs
  }
}
