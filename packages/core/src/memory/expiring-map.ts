import type { Expiring, ExpiryWheel } from './expiry-wheel.ts'

/** Each `set` frees up to this many expired entries. More than one, so that a backlog shrinks without a timer. */
const freedPerPut = 4

/** One entry. Read `value` and `expiresAtMs`; do everything else through the map. */
export interface MapEntry<V> {
  readonly value: V
  /** When the entry expires, in milliseconds of the monotonic clock; `Infinity` for never. */
  readonly expiresAtMs: number
}

/**
 * A map whose entries expire. An expired entry is never seen again, and its memory is freed whether or not anybody asks
 * for it. The caller reads the clock once per request, so that the whole request sees one moment.
 */
export class ExpiringMap<V> {
  readonly #wheel: ExpiryWheel
  readonly #entries: Map<string, Entry<V>> = new Map()

  /** Maps may share a wheel, and with it a timer. */
  constructor(wheel: ExpiryWheel) {
    this.#wheel = wheel
  }

  /** The number of entries in memory, including expired ones not yet freed. */
  get size(): number {
    return this.#entries.size
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys()
  }

  get(key: string, nowMs: number): MapEntry<V> | undefined {
    const entry = this.#entries.get(key)
    return entry && entry.expiresAtMs > nowMs ? entry : undefined
  }

  set(key: string, value: V, expiresAtMs: number, nowMs: number): void {
    this.#wheel.free(nowMs, freedPerPut)
    let entry = this.#entries.get(key)
    if (entry) {
      entry.value = value
    } else {
      entry = new Entry(this.#entries, key, value)
      this.#entries.set(key, entry)
    }
    this.#expireAt(entry, expiresAtMs, nowMs)
  }

  /** Moves an expiry later, never sooner. */
  extend(key: string, expiresAtMs: number, nowMs: number): void {
    const entry = this.#entries.get(key)
    if (entry && entry.expiresAtMs > nowMs && entry.expiresAtMs < expiresAtMs) this.#expireAt(entry, expiresAtMs, nowMs)
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#wheel.remove(entry)
    entry.free()
  }

  #expireAt(entry: Entry<V>, expiresAtMs: number, nowMs: number): void {
    entry.expiresAtMs = expiresAtMs
    if (expiresAtMs === Infinity) this.#wheel.remove(entry)
    else this.#wheel.put(entry, nowMs)
  }
}

class Entry<V> implements MapEntry<V>, Expiring {
  readonly key: string
  value: V
  expiresAtMs = 0
  slot = -1
  previous: Expiring | null = null
  next: Expiring | null = null
  readonly #home: Map<string, Entry<V>>

  constructor(home: Map<string, Entry<V>>, key: string, value: V) {
    this.#home = home
    this.key = key
    this.value = value
  }

  free(): void {
    this.#home.delete(this.key)
  }
}
