/** A stream whose reader may leave something unread. */
export interface UnreadStream {
  /** Ends the stream, and drops what is unread. */
  cutOff(): void
}

/** Counts what the readers of many streams leave unread. If the total is too large, those with the most are cut off. */
export class UnreadTotal {
  readonly #maxBytes: number
  readonly #streams = new Map<UnreadStream, number>()
  #bytes = 0

  /** @param maxBytes default 64 MB: half the memory of a Durable Object */
  constructor(maxBytes = 64_000_000) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Records how many bytes the stream holds now; 0 when nothing is unread anymore. */
  set(stream: UnreadStream, bytes: number): void {
    this.#bytes += bytes - (this.#streams.get(stream) ?? 0)
    if (bytes > 0) this.#streams.set(stream, bytes)
    else this.#streams.delete(stream)
    while (this.#bytes > this.#maxBytes) this.#cutOffMost()
  }

  #cutOffMost(): void {
    let most: UnreadStream | undefined
    let mostBytes = 0
    for (const [stream, bytes] of this.#streams) if (bytes > mostBytes) [most, mostBytes] = [stream, bytes]
    if (!most) return
    this.#bytes -= mostBytes
    this.#streams.delete(most)
    most.cutOff()
  }
}
