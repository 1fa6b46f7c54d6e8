/** A waiter as the store knows it: by its name, never by a token. */
export interface Waiter {
  /** `<inbox>.<number>`. */
  readonly name: string
  readonly inbox: string
  readonly number: number
  readonly permits: number
  /** How long the waiter keeps a turn, in milliseconds. */
  readonly windowMs: number
  /** The waiter's place in the queue's order, in microseconds of the queue's time. Two waiters may have the same. */
  readonly ticket: number
  /** The generation of its inbox when it entered. If the inbox now has another, the waiter is void. */
  readonly generation: number
  /** When the turn ends, by the queue's time; null if the waiter has none. */
  turnUntilMs: number | null
}
