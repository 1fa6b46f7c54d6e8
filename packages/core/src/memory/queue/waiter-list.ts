import type { Waiter } from './waiter.ts'

/** Waiters in order of a figure, and of their names where it is the same: a sorted set of Redis. */
export class WaiterList {
  /** How many permits all of them want. */
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

  /** Where it stands, or would stand. */
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
