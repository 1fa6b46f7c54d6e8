import { sharesBetweenCalls } from '#sharing'
import type { Clock } from '../timing/clock.ts'

/** Something that is freed once it has expired. A node in the doubly linked list of its slot. */
export interface Expiring {
  expiresAtMs: number
  /** Index of the list it is in; -1 for none. */
  slot: number
  previous: Expiring | null
  next: Expiring | null
  free(): void
}

/** The granularity of expiry. An expired entry is absent at once; this decides only when its memory is freed. */
const slotMs = 1_000

/** Slots in the ring: about 17 minutes. This exceeds the default fence memory, so most entries are placed once. */
const slots = 1_024

/** How many entries one run of the background timer frees, so that a mass expiry never blocks the event loop. */
const freedPerTurn = 5_000

/**
 * A timing wheel: frees each expired entry in constant time. A slot of the ring is the list of the entries that expire
 * within the same second. An entry beyond the ring waits in the last slot and is placed again from there.
 *
 * Each insertion does a little of the work; one background timer, which exists only while there is something to free,
 * does the rest. Where calls share no timers (Workers) there is no timer: later calls free the memory, or it goes with
 * the isolate.
 *
 * Source: Varghese and Lauck, Hashed and Hierarchical Timing Wheels (SOSP 1987).
 */
export class ExpiryWheel {
  readonly #clock: Clock
  readonly #ring: (Expiring | null)[] = new Array<Expiring | null>(slots).fill(null)
  /** The first slot not yet emptied, counted from the clock's start; the ring covers this slot and those after it. */
  #first = 0
  #count = 0
  #armedFor = Infinity
  #disarm: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Adds an entry, or moves it after its expiry has changed. */
  put(entry: Expiring, nowMs: number): void {
    this.remove(entry)
    if (this.#count === 0) this.#first = Math.floor(nowMs / slotMs)
    const wanted = Math.floor(entry.expiresAtMs / slotMs)
    const slot = Math.min(Math.max(wanted, this.#first), this.#first + slots - 1)
    const head = this.#ring[slot % slots] ?? null
    entry.slot = slot % slots
    entry.next = head
    if (head) head.previous = entry
    this.#ring[entry.slot] = entry
    this.#count++
    if (slot < this.#armedFor) this.#arm(slot, nowMs)
  }

  remove(entry: Expiring): void {
    if (entry.slot < 0) return
    if (entry.previous) entry.previous.next = entry.next
    else this.#ring[entry.slot] = entry.next
    if (entry.next) entry.next.previous = entry.previous
    entry.slot = -1
    entry.previous = null
    entry.next = null
    this.#count--
  }

  /** Frees at most `limit` of the entries whose second is over. */
  free(nowMs: number, limit: number): void {
    const current = Math.floor(nowMs / slotMs)
    let left = limit
    for (; this.#first < current && this.#count > 0; this.#first++) {
      for (let entry = this.#head(this.#first); entry; entry = this.#head(this.#first)) {
        if (left-- === 0) return
        this.remove(entry)
        if (entry.expiresAtMs > nowMs) this.put(entry, nowMs)
        else entry.free()
      }
    }
  }

  #head(slot: number): Expiring | null {
    return this.#ring[slot % slots] ?? null
  }

  #arm(slot: number, nowMs: number): void {
    if (!sharesBetweenCalls()) return
    this.#disarm?.()
    this.#armedFor = slot
    this.#disarm = this.#clock.schedule(() => this.#run(), Math.max(0, (slot + 1) * slotMs - nowMs), 'background')
  }

  #run(): void {
    this.#armedFor = Infinity
    this.#disarm = undefined
    const nowMs = this.#clock.monotonicMs()
    this.free(nowMs, freedPerTurn)
    if (this.#count === 0) return
    let slot = this.#first
    while (!this.#head(slot)) slot++
    this.#arm(slot, nowMs)
  }
}
