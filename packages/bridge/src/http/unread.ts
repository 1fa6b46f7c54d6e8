/** What there is beside the bytes themselves: the buffer's object, and its share of the memory that holds it. */
const bufferBytes = 256
/** An entry of a set. */
const entryBytes = 64
const leastCapacity = 256

/**
 * What a reader has not taken yet, and the memory that it takes. Thousands of short messages in a queue take many times
 * their length, so they are joined to one as they come.
 */
export class Unread {
  readonly #maxBytes: number
  #buffer: Uint8Array | undefined
  #length = 0
  readonly #once = new Set<Uint8Array>()

  /** @param maxBytes what is added should not be more; more memory is not set aside for it */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether this many bytes can be added. What is more than all that may be there can only come first. */
  hasRoom(bytes: number): boolean {
    return this.#length === 0 || this.#length + this.#once.size * entryBytes + bytes <= this.#maxBytes
  }

  /** In bytes. */
  get memory(): number {
    return (this.#buffer ? this.#buffer.length + bufferBytes : 0) + this.#once.size * entryBytes
  }

  add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length
    if (!this.#buffer || length > this.#buffer.length) this.#grow(length)
    this.#buffer?.set(bytes, this.#length)
    this.#length = length
  }

  /** Adds a message that says nothing more when it comes twice, and that others share. It comes after what is joined. */
  addOnce(message: Uint8Array): void {
    this.#once.add(message)
  }

  /** All of it, in one piece. */
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
