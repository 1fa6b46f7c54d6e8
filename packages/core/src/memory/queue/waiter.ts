/** A waiter as the store knows it: by its name, never by a token. */
export interface Waiter {
  /** `<inbox>.<number>`. */
  readonly name: string
  readonly inbox: string
  readonly number: number
  readonly permits: number
  /** For how long it keeps a turn. */
  readonly windowMs: number
  /** Its place in the order of the queue, in microseconds of the queue's time. Two may have the same. */
  readonly ticket: number
  /** That of its inbox when it entered. If the inbox has another by now, the waiter is void. */
  readonly generation: number
  /** When its turn ends, by the queue's time; null if it has none. */
  turnUntilMs: number | null
}
