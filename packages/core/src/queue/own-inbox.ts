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
 * Whoever waits lets it begin to hear first, but a subscriber that says nothing gets only so much time, `readyMs`, in all: however
 * many wait for it, and however often it is opened again.
 */
export class OwnInbox {
  readonly #clock: Clock
  readonly #inboxes: Inbox
  readonly #listener: (message: string | undefined) => void
  /** Drawn when it is first needed: Workers forbid randomness at module scope. */
  #name: string | undefined
  #open: OpenInbox | undefined
  /** The subscriber has said whether it hears. */
  #isAnswered = false
  #openedMs = 0
  /** How long it was open, and the subscriber silent, before it was opened this time. */
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

  /** What a try says of it. */
  get lives(): { readonly listens: boolean; readonly aliveMs: number; readonly windowMs: number } {
    const { isNameOnly } = this.#inboxes
    return {
      listens: this.#open?.live === true,
      aliveMs: isNameOnly ? httpAliveMs : listeningAliveMs,
      windowMs: isNameOnly ? httpWindowMs : listeningWindowMs,
    }
  }

  /** Whether there is nothing to wait for: it hears, or is known not to. One that is a name only is opened at no cost. */
  get isSettled(): boolean {
    return this.#inboxes.isNameOnly === true || (this.#open !== undefined && this.patienceMs === 0)
  }

  /** How long it may be waited for, in milliseconds. */
  get patienceMs(): number {
    return this.#isAnswered || this.#inboxes.isNameOnly ? 0 : Math.max(0, readyMs - this.#silence())
  }

  /** Opens it unless it is open. Answers what settles once it hears, or is known not to. */
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
