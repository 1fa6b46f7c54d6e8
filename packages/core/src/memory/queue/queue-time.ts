/**
 * The time of one queue, in milliseconds: the server's clock, except that it continues from where it was when that
 * clock is set back. Otherwise everybody who enters after that would overtake those who entered before, and no turn
 * would end.
 */
export class QueueTime {
  #seenMs = -Infinity
  #addedMs = 0

  at(serverMs: number): number {
    if (serverMs < this.#seenMs) this.#addedMs += this.#seenMs - serverMs
    this.#seenMs = serverMs
    return serverMs + this.#addedMs
  }
}
