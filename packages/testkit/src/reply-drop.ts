import type { Link } from './tcp-link.ts'

/**
 * What happens to a connection whose reply is dropped: it ends (`cut`), or it stays open and never carries anything
 * again (`silence`).
 */
export type Ending = 'cut' | 'silence'

/** A reply that is to be dropped. At first it belongs to no connection, then to the one whose request passes next. */
interface Wanted {
  readonly ending: Ending
  readonly dropped: () => void
  readonly link?: Link
}

/** Drops one reply on demand: that to the next request. */
export class ReplyDrop {
  #wanted: Wanted | undefined

  /** Resolves when a reply has been dropped. */
  next(ending: Ending): Promise<void> {
    return new Promise((dropped) => {
      this.#wanted = { ending, dropped }
    })
  }

  requestPassed(link: Link): void {
    if (this.#wanted && !this.#wanted.link) this.#wanted = { ...this.#wanted, link }
  }

  /** Drops the reply if it is the one to drop, and returns whether it was. */
  take(link: Link): boolean {
    const wanted = this.#wanted
    if (wanted?.link !== link) return false
    this.#wanted = undefined
    if (wanted.ending === 'cut') link.cut()
    else link.silence()
    wanted.dropped()
    return true
  }

  /** Notes that a connection ended without a reply: the next request's reply is dropped instead. */
  closed(link: Link): void {
    if (this.#wanted?.link === link) this.#wanted = { ending: this.#wanted.ending, dropped: this.#wanted.dropped }
  }
}
