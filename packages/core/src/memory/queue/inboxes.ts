import type { QueuedWaiter } from '../../store/queue.ts'

/** The inbox of a process, from its first waiter in the queue to its last, or until it is voided. */
export interface Inbox {
  /** No two inboxes of a queue have the same. */
  readonly generation: number
  readonly listens: boolean
  /** By the queue's time. */
  aliveUntilMs: number
  /** Whether a subscriber was counted when its process last called. Of such a one, silence is believed. */
  counted: boolean
  /** How many of its waiters are in the queue. */
  waiters: number
}

/** The inboxes of the waiters of one queue. An inbox that goes and comes again has another generation: its former waiters are void. */
export class Inboxes {
  readonly #inboxes: Map<string, Inbox> = new Map()
  #lastGeneration = 0

  get(inbox: string): Inbox | undefined {
    return this.#inboxes.get(inbox)
  }

  /** A call of its process keeps an inbox alive. Of one that has no waiters there is nothing to keep. */
  hear(inbox: string, aliveUntilMs: number, subscribers: number): void {
    const known = this.#inboxes.get(inbox)
    if (!known) return
    known.aliveUntilMs = aliveUntilMs
    known.counted = known.listens && subscribers > 0
  }

  /** One more waiter; answers the generation. */
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

  /** One waiter less, if it was not void. The inbox goes with the last. */
  part(inbox: string, generation: number): void {
    const known = this.#inboxes.get(inbox)
    if (known?.generation === generation && --known.waiters === 0) this.forget(inbox)
  }

  forget(inbox: string): void {
    this.#inboxes.delete(inbox)
  }
}
