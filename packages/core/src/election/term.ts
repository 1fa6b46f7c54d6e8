import { LeaseholdError, LeaseLostError } from '../errors.ts'
import type { Lease } from '../lease/lease.ts'
import type { Clock } from '../timing/clock.ts'

/** What a leader's work knows of its leadership. */
export interface Leadership {
  readonly key: string
  /**
   * The leader's term: it grows with each election of this key. Whatever the leader writes to may refuse a lower one.
   */
  readonly fence: number
  /**
   * Aborted when the work has to stop, for which it has `stopWithin`. The reason is a `LeaseLostError` if the term was
   * cut short.
   */
  readonly signal: AbortSignal
  /** How long nobody else can lead, in milliseconds, by our own clock; 0 when somebody may. */
  remaining(): number
  /**
   * Throws once the work has to stop. Call it before each side effect: timers can be late, and so can the signal.
   *
   * @throws the signal's reason
   */
  assertValid(): void
  /**
   * Ends the term, like the candidate's `resign`, but returns at once: the work has yet to stop. The candidate's
   * `resign` waits for the work, so the work cannot await it.
   */
  resign(): void
}

/**
 * One term of a leader: a lease, and work that is told to stop while that lease still has `stopWithin` to live.
 *
 * States: *leading* → *told* to stop, once, with its reason → *over*. A renewal that is answered after the work was
 * told changes nothing for the work, but keeps the others out while it stops.
 */
export class Term {
  /** What the work gets. Its functions may be destructured. */
  readonly leadership: Leadership
  /** Resolves when the work is told to stop. */
  readonly told: Promise<void>
  readonly #clock: Clock
  readonly #lease: Lease
  readonly #stopWithinMs: number
  readonly #abort = new AbortController()
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock, lease: Lease, stopWithinMs: number) {
    const { key, fence } = lease
    this.leadership = {
      key,
      fence,
      signal: this.signal,
      remaining: () => lease.remaining(),
      assertValid: () => {
        this.#check()
        this.signal.throwIfAborted()
      },
      resign: () => this.end(),
    }
    this.#clock = clock
    this.#lease = lease
    this.#stopWithinMs = stopWithinMs
    this.told = new Promise((resolve) => this.signal.addEventListener('abort', () => resolve()))
    const { signal } = lease
    signal.addEventListener('abort', () => this.tell(signal.reason))
    this.#check()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Tells the work to stop. Only the first reason counts. */
  tell(reason: unknown): void {
    this.#cancelTimer?.()
    this.#abort.abort(reason)
  }

  /** Ends the term, and tells the work to stop unless it has been told. */
  end(): void {
    const { key } = this.#lease
    this.tell(new LeaseholdError('LEASE_RELEASED', `The term of "${key}" has ended`, { key }))
  }

  /**
   * Tells the work to stop if the lease has no more than `stopWithin` to live, and otherwise checks again when it
   * would. Each answered renewal puts that off: while renewals are answered, a lease has at least half its ttl to live.
   */
  #check(): void {
    if (this.signal.aborted) return
    const leftMs = this.#lease.remaining() - this.#stopWithinMs
    this.#cancelTimer?.()
    if (leftMs > 0) {
      this.#cancelTimer = this.#clock.schedule(() => this.#check(), Math.ceil(leftMs), 'background')
      return
    }
    try {
      // If the lease is over already, as after a pause of the whole process, its own reason is the better one.
      this.#lease.assertValid()
      this.tell(new LeaseLostError(this.#lease.key, 'unreachable'))
    } catch (error) {
      this.tell(error)
    }
  }
}
