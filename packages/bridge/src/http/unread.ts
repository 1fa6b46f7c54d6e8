/** The memory that a buffer takes in addition to its contents, in bytes: the object, and its share of what holds it. */
const bufferBytes = 256
/** The memory that a set entry takes, in bytes. */
const entryBytes = 64
const leastCapacity = 256

/**
 * What a reader has not read yet, and how much memory it takes. Thousands of short messages in a queue would take many
 * times their length, so they go into one buffer as they come.
 */
export class Unread {
  readonly #maxBytes: number
  #buffer: Uint8Array | undefined
  #length = 0
  readonly #once = new Set<Uint8Array>()

  /** @param maxBytes the most that should be added; the buffer does not grow beyond that in advance */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether this many bytes can be added. A message larger than `maxBytes` is accepted only as the first of `add`. */
  hasRoom(bytes: number): boolean {
    return this.#length === 0 || this.#length + this.#once.size * entryBytes + bytes <= this.#maxBytes
  }

  /** The memory taken, in bytes. */
  get memory(): number {
    return (this.#buffer ? this.#buffer.length + bufferBytes : 0) + this.#once.size * entryBytes
  }

  add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length
    if (!this.#buffer || length > this.#buffer.length) this.#grow(length)
    this.#buffer?.set(bytes, this.#length)
    this.#length = length
  }

  /** Adds a shared message that says nothing more if it comes twice. `take` returns it after what `add` has added. */
  addOnce(message: Uint8Array): void {
    this.#once.add(message)
  }

  /** Takes everything unread, in one chunk. */
  take(): Uint8Array {
    for (const message of this.#once) this.add(message)
    const taken = this.#buffer?.subarray(0, this.#length) ?? new Uint8Array()
    this.clear()
    return taken
  }

  clear(): void {
    this.#buffer = undefined
    this.#length = 0
    this.#once.clear()
  }

  #grow(length: number): void {
    const larger = new Uint8Array(
      Math.max(leastCapacity, length, Math.min(2 * (this.#buffer?.length ?? 0), this.#maxBytes)),
    )
    if (this.#buffer) larger.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = larger
  }
}
