import { LeaseholdError } from './errors.ts'
import type { Grant } from './grant.ts'
import type { Lease } from './lease.ts'
import type { Clock } from './timing/clock.ts'
import { sleep, withDeadline } from './timing/deadline.ts'

/** What a locker has going on: waits, leases held, and clean-up that nobody waits for. Knows how to end it. */
export class OpenWork {
  readonly #waits = new Set<AbortController>()
  readonly #leases = new Map<Lease, Grant>()
  readonly #tasks = new Set<Promise<unknown>>()
  #closed = false
  #onIdle: (() => void) | undefined

  /** @throws LeaseholdError with code `CLOSED` once the locker is being closed */
  assertOpen(): void {
    if (this.#closed) throw closedError()
  }

  /** Runs a wait under a signal of its own, which the caller's signal and closing abort. */
  async wait<T>(signal: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.assertOpen()
    signal?.throwIfAborted()
    const stop = new AbortController()
    const onAbort = (): void => stop.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort)
    this.#waits.add(stop)
    try {
      return await run(stop.signal)
    } finally {
      this.#waits.delete(stop)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  hold(lease: Lease, grant: Grant): void {
    this.#leases.set(lease, grant)
  }

  drop(lease: Lease): void {
    this.#leases.delete(lease)
    if (this.#leases.size === 0) this.#onIdle?.()
  }

  background(task: Promise<unknown>): void {
    const forget = (): void => void this.#tasks.delete(tracked)
    const tracked: Promise<void> = task.then(forget, forget)
    this.#tasks.add(tracked)
  }

  /**
   * Ends waits at once, lets leases be for `graceMs`, takes away what is left, and waits for clean-up, though no longer
   * than `cleanUpMs`: what it does not reach ends with its ttl.
   */
  async close(clock: Clock, graceMs: number, cleanUpMs: number): Promise<void> {
    this.#closed = true
    for (const wait of this.#waits) wait.abort(closedError())
    if (this.#leases.size > 0) {
      await sleep(clock, graceMs, undefined, (wake) => {
        this.#onIdle = wake
        return () => {
          this.#onIdle = undefined
        }
      })
    }
    const left = [...this.#leases]
    for (const [, grant] of left) grant.lose('closed')
    await Promise.all(left.map(([lease]) => lease.release()))
    await withDeadline(clock, cleanUpMs, () => Promise.all(this.#tasks))
  }
}

const closedError = (): LeaseholdError => new LeaseholdError('CLOSED', 'The locker was closed; make a new one')
