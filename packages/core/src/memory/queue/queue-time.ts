/**
 * The time of one queue, in milliseconds: that of the server's clock, which goes on where it was when that clock is set back.
 * Otherwise who entered before would be overtaken by everybody who enters after, and no turn would end.
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
