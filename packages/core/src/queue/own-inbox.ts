import {
  httpAliveMs,
  httpWindowMs,
  aliveMs as listeningAliveMs,
  windowMs as listeningWindowMs,
} from '../store/queue-figures.ts'
import { drawAcquisitionId } from '../store/token.ts'
import type { Clock } from '../timing/clock.ts'
import type { Inbox, OpenInbox } from '../waiting/inbox.ts'
import { readyMs } from './figures.ts'

/**
 * The inbox that the waiters of a process share. It keeps its name, and is open as long as anybody waits.
 *
 * A waiter first gives the inbox time to begin to hear. But a silent subscriber gets only `readyMs` in total, however
 * many waiters wait for it and however often it is opened again.
 */
export class OwnInbox {
  readonly #clock: Clock
  readonly #inboxes: Inbox
  readonly #listener: (message: string | undefined) => void
  /** Drawn when it is first needed: Workers forbid randomness at module scope. */
  #name: string | undefined
  #open: OpenInbox | undefined
  /** Whether the subscriber has said that it hears, or that it cannot. */
  #isAnswered = false
  #openedMs = 0
  /** How long the inbox was open with a silent subscriber before it was last opened, in milliseconds. */
  #silentMs = 0

  constructor(clock: Clock, inboxes: Inbox, listener: (message: string | undefined) => void) {
    this.#clock = clock
    this.#inboxes = inboxes
    this.#listener = listener
  }

  get name(): string {
    this.#name ??= drawAcquisitionId()
    return this.#name
  }

  /** What a try says about the inbox. */
  get lives(): { readonly listens: boolean; readonly aliveMs: number; readonly windowMs: number } {
    const { isNameOnly } = this.#inboxes
    return {
      listens: this.#open?.live === true,
      aliveMs: isNameOnly ? httpAliveMs : listeningAliveMs,
      windowMs: isNameOnly ? httpWindowMs : listeningWindowMs,
    }
  }

  /**
   * Whether there is nothing to wait for: the inbox hears, or is known not to. An inbox that is a name only opens at no
   * cost.
   */
  get isSettled(): boolean {
    return this.#inboxes.isNameOnly === true || (this.#open !== undefined && this.patienceMs === 0)
  }

  /** How long a waiter may still wait for the inbox, in milliseconds. */
  get patienceMs(): number {
    return this.#isAnswered || this.#inboxes.isNameOnly ? 0 : Math.max(0, readyMs - this.#silence())
  }

  /** Opens the inbox unless it is open. Settles once it hears, or is known not to. */
  open(): Promise<void> {
    if (this.#open) return this.#open.ready
    const open = this.#inboxes.open(this.name, this.#listener)
    this.#open = open
    this.#openedMs = this.#clock.monotonicMs()
    void open.ready.then(() => {
      if (open.live) this.#silentMs = 0
      if (open === this.#open) this.#isAnswered = true
    })
    return open.ready
  }

  close(): void {
    if (!this.#isAnswered) this.#silentMs = this.#silence()
    this.#isAnswered = false
    this.#open?.close()
    this.#open = undefined
  }

  #silence(): number {
    return this.#silentMs + (this.#open ? this.#clock.monotonicMs() - this.#openedMs : 0)
  }
}
