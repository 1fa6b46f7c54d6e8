import type { Clock } from '@leasehold/core'
import type { LookOutcome } from '@leasehold/core/queue'
import type { KeptWaiter, QueuedKey } from './kept-waiter.ts'

/**
 * How long after an expiry the look for it comes, in milliseconds, so that it is not sent shortly before the expiry.
 */
const afterExpiryMs = 5

const changed = { type: 'changed' } as const

/** One key, and the waiters in its queue whose polls are open. */
export class KeptKey implements QueuedKey {
  readonly key: string
  /** When the bridge last looked in order to move the queue on, in monotonic milliseconds. */
  movedMs: number = -Infinity
  readonly #clock: Clock
  readonly #onDue: () => void
  /** The polls of each waiter, by name. A client that has lost its connection may have two polls for a while. */
  readonly #waiters = new Map<string, Set<KeptWaiter>>()
  #stopTimer: (() => void) | undefined

  /** @param onDue called when something in the store has ended, as the last look predicted */
  constructor(key: string, clock: Clock, onDue: () => void) {
    this.key = key
    this.#clock = clock
    this.#onDue = onDue
  }

  /** Any one of the waiters: a look about any of them moves the queue on. */
  get anyone(): KeptWaiter | undefined {
    for (const polls of this.#waiters.values()) for (const waiter of polls) return waiter
    return undefined
  }

  add(waiter: KeptWaiter): void {
    const polls = this.#waiters.get(waiter.waiter.name)
    if (polls) polls.add(waiter)
    else this.#waiters.set(waiter.waiter.name, new Set([waiter]))
  }

  /** Returns whether it was the last one. */
  remove(waiter: KeptWaiter): boolean {
    const { name } = waiter.waiter
    const polls = this.#waiters.get(name)
    polls?.delete(waiter)
    if (polls?.size === 0) this.#waiters.delete(name)
    if (this.#waiters.size > 0) return false
    this.#arm(null)
    return true
  }

  /** Answers the polls of the waiter that has its turn, and no others. */
  turn(name: string): void {
    for (const waiter of [...(this.#waiters.get(name) ?? [])]) waiter.end(changed)
  }

  /** Handles the outcome of a look about one of the waiters. */
  looked(waiter: KeptWaiter, outcome: LookOutcome): void {
    if (outcome.type === 'looked') {
      const { inbox, number } = waiter.waiter
      if (this.anyone) this.#arm(outcome.againInMs)
      for (const each of outcome.turns) this.turn(`${inbox}.${each}`)
      if (outcome.missing.includes(number)) waiter.end(changed)
      else waiter.confirmed()
    } else if (outcome.type === 'refused') waiter.refused()
    else waiter.unanswered()
  }

  dismiss(): void {
    for (const polls of [...this.#waiters.values()])
      for (const waiter of [...polls]) waiter.end({ type: 'unavailable' })
  }

  #arm(againInMs: number | null): void {
    this.#stopTimer?.()
    this.#stopTimer =
      againInMs === null ? undefined : this.#clock.schedule(this.#onDue, againInMs + afterExpiryMs, 'background')
  }
}
