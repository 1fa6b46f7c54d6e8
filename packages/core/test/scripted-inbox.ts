import type { ReleaseNotifier } from '../src/adapter/index.ts'
import { type OpenInbox, offerInbox } from '../src/waiting/inbox.ts'

/** An inbox that says what a test says. */
export class ScriptedInbox implements OpenInbox {
  live = false
  /** How often it was opened. */
  opened = 0
  ready!: Promise<void>
  say: (message: string | undefined) => void = () => undefined
  #isConfirmed = false
  #resolve!: () => void

  constructor() {
    this.silence()
  }

  /** It hears, and does so at once when it is opened again. */
  confirm(): void {
    this.#isConfirmed = true
    this.live = true
    this.#resolve()
  }

  /** Nobody says any more whether it hears. */
  silence(): void {
    this.#isConfirmed = false
    this.live = false
    this.ready = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  open(listener: (message: string | undefined) => void): this {
    this.opened++
    this.say = listener
    this.live = this.#isConfirmed
    return this
  }

  close(): void {
    this.live = false
  }
}

/** One that hears as soon as it is opened. */
export function openInbox(): ScriptedInbox {
  const inbox = new ScriptedInbox()
  inbox.confirm()
  return inbox
}

/** Lets a notifier offer that inbox. */
export const withInbox = (notifier: ReleaseNotifier, inbox: ScriptedInbox = openInbox()): ReleaseNotifier =>
  offerInbox(notifier, { open: (_, listener) => inbox.open(listener) })
