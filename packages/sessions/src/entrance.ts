import { type Clock, StoreUnavailableError } from '@leasehold/core'
import { enterWithinMs, mostEntering } from './figures.ts'

/** A session that waits to be let in. */
interface Waiting {
  go(): void
  refuse(error: unknown): void
}

/**
 * Lets sessions enter a few at a time, in order of arrival. In a storm of reconnects each request then has its whole
 * deadline, and does not spend it behind thousands of others.
 */
export class Entrance {
  readonly #clock: Clock
  readonly #waiting = new Set<Waiting>()
  #inside = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @throws StoreUnavailableError for a session that did not get its turn in time: those before it got no answers from
   *   the store
   * @throws the signal's own reason when it is aborted
   */
  async pass<T>(enter: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted()
    if (this.#inside < mostEntering) this.#inside++
    else await this.#turn(signal)
    try {
      return await enter()
    } finally {
      const [next] = this.#waiting
      if (next) next.go()
      else this.#inside--
    }
  }

  /** Refuses all waiting sessions. */
  close(error: unknown): void {
    for (const waiting of [...this.#waiting]) waiting.refuse(error)
  }

  /** Waits for a place, which a session before this one passes on. */
  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#waiting.delete(waiting)
        cancel()
        signal?.removeEventListener('abort', onAbort)
      }
      const waiting: Waiting = {
        go: () => {
          settle()
          resolve()
        },
        refuse: (error) => {
          settle()
          reject(error)
        },
      }
      const onAbort = (): void => waiting.refuse(signal?.reason)
      const onLate = (): void => waiting.refuse(new StoreUnavailableError('let too few sessions in', 'no'))
      const cancel = this.#clock.schedule(onLate, enterWithinMs)
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiting.add(waiting)
    })
  }
}
