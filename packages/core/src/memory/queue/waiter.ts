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

/** The inbox of a process, from its first waiter in the queue to its last, or until it is voided. */
export interface Inbox {
  readonly generation: number
  /** By the queue's time. */
  aliveUntilMs: number
  /** Whether a subscriber was counted when its process last called. Of such a one, silence is believed. */
  counted: boolean
  readonly listens: boolean
  /** How many of its waiters are in the queue. */
  waiters: number
}
