import type { Waiter } from './waiter.ts'

/** Waiters ordered by a number, and by name where it is the same, like a sorted set in Redis. */
export class WaiterList {
  /** The number of permits that all of them want together. */
  permits = 0
  readonly #of: (waiter: Waiter) => number
  readonly #waiters: Waiter[] = []

  constructor(of: (waiter: Waiter) => number) {
    this.#of = of
  }

  get all(): readonly Waiter[] {
    return this.#waiters
  }

  get length(): number {
    return this.#waiters.length
  }

  get first(): Waiter | undefined {
    return this.#waiters[0]
  }

  add(waiter: Waiter): void {
    this.#waiters.splice(this.indexOf(waiter), 0, waiter)
    this.permits += waiter.permits
  }

  remove(waiter: Waiter): void {
    this.#waiters.splice(this.indexOf(waiter), 1)
    this.permits -= waiter.permits
  }

  /** The index at which the waiter is, or would be inserted. */
  indexOf(waiter: Waiter): number {
    let [low, high] = [0, this.#waiters.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#isBefore(this.#waiters[middle] as Waiter, waiter)) low = middle + 1
      else high = middle
    }
    return low
  }

  #isBefore(one: Waiter, other: Waiter): boolean {
    const difference = this.#of(one) - this.#of(other)
    return difference === 0 ? one.name < other.name : difference < 0
  }
}
