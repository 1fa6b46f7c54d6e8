import type { QueuedWaiter } from '../../store/queue.ts'

/** The inbox of a process, from its first waiter in the queue to its last, or until it is voided. */
export interface Inbox {
  /** Unique among the inboxes of a queue. */
  readonly generation: number
  readonly listens: boolean
  /** Until when the process counts as alive, by the queue's time. */
  aliveUntilMs: number
  /** Whether a subscriber was counted when the process last called. If so, a later count of none is believed. */
  counted: boolean
  /** The number of its waiters in the queue. */
  waiters: number
}

/**
 * The inboxes of a queue's waiters. An inbox that goes and returns has a new generation: its former waiters are void.
 */
export class Inboxes {
  readonly #inboxes: Map<string, Inbox> = new Map()
  #lastGeneration = 0

  get(inbox: string): Inbox | undefined {
    return this.#inboxes.get(inbox)
  }

  /** A call from its process keeps an inbox alive. An inbox without waiters is not kept. */
  hear(inbox: string, aliveUntilMs: number, subscribers: number): void {
    const known = this.#inboxes.get(inbox)
    if (!known) return
    known.aliveUntilMs = aliveUntilMs
    known.counted = known.listens && subscribers > 0
  }

  /** Adds a waiter. Returns the inbox's generation. */
  join({ inbox, listens }: QueuedWaiter, aliveUntilMs: number, subscribers: number): number {
    let known = this.#inboxes.get(inbox)
    if (!known) {
      const generation = ++this.#lastGeneration
      known = { generation, listens, aliveUntilMs, counted: listens && subscribers > 0, waiters: 0 }
      this.#inboxes.set(inbox, known)
    }
    known.waiters++
    return known.generation
  }

  /** Counts one waiter less, unless it was void. The inbox goes with its last waiter. */
  part(inbox: string, generation: number): void {
    const known = this.#inboxes.get(inbox)
    if (known?.generation === generation && --known.waiters === 0) this.forget(inbox)
  }

  forget(inbox: string): void {
    this.#inboxes.delete(inbox)
  }
}
