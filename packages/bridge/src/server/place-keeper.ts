import type { Clock } from '@leasehold/core'
import { InvalidOptionError } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import type { QueueStore } from '@leasehold/core/queue'
import type { OnBridgeEvent } from './bridge-events.ts'
import { KeptKey } from './kept-key.ts'
import { KeptWaiter, type PlaceAnswer, type PlaceRequest } from './kept-waiter.ts'
import { LookLane } from './look-lane.ts'

export interface PlaceKeeperOptions {
  readonly queue: QueueStore
  readonly store: Pick<LeaseStore, 'nodeOf'>
  readonly clock: Clock
  readonly onEvent: OnBridgeEvent
}

interface Entry {
  readonly kept: KeptKey
  readonly lane: LookLane
}

/**
 * Keeps the places of waiters in queues while they poll, and answers each when it has its turn or is no longer in the queue.
 *
 * A turn is announced with its waiter's name, so it answers that poll alone. An announced release may give nobody a
 * turn: then the store is asked, which moves the queue on. A lease may end without a message and a message may be lost,
 * so the store is also asked when something there is known to end, and every two seconds about each waiter, which keeps
 * the waiter in the queue.
 */
export class PlaceKeeper {
  readonly #options: PlaceKeeperOptions
  readonly #keys = new Map<string, Entry>()
  /** The lanes, keyed by the name of their node: a silent node delays only its own keys. */
  readonly #lanes = new Map<string, LookLane>()
  #closed = false

  constructor(options: PlaceKeeperOptions) {
    this.#options = options
  }

  /** Resolves when there is a reason to try again, or no reason to keep waiting. `unkept`: the store refuses. */
  wait(key: string, request: PlaceRequest): Promise<PlaceAnswer> {
    return new Promise((resolve) => {
      if (this.#closed) return resolve({ type: 'unavailable' })
      const entry = this.#entryOf(key)
      if (!entry) return resolve({ type: 'bad-key' })
      const waiter = new KeptWaiter(entry.kept, request, this.#options.clock, (answer) => {
        entry.lane.remove(waiter)
        if (entry.kept.remove(waiter) && this.#keys.get(key) === entry) this.#keys.delete(key)
        resolve(answer)
      })
      entry.kept.add(waiter)
      entry.lane.add(waiter)
      waiter.begin()
    })
  }

  /** A turn was announced. */
  turn(key: string, name: string): void {
    this.#keys.get(key)?.kept.turn(name)
  }

  /** A release was announced that may have given nobody a turn. */
  released(key: string): void {
    const entry = this.#keys.get(key)
    if (entry) entry.lane.move(entry.kept)
  }

  /** Messages may have been missed. */
  lookAgain(): void {
    for (const lane of this.#lanes.values()) lane.lookAgain()
  }

  /** Sends all waiters away, to come back or to look for themselves. */
  dismiss(): void {
    for (const { kept } of [...this.#keys.values()]) kept.dismiss()
  }

  close(): void {
    this.#closed = true
    this.dismiss()
  }

  #entryOf(key: string): Entry | undefined {
    const known = this.#keys.get(key)
    if (known) return known
    const lane = this.#laneOf(key)
    const kept: KeptKey | undefined = lane && new KeptKey(key, this.#options.clock, () => lane.move(kept as KeptKey))
    if (!lane || !kept) return undefined
    const entry = { kept, lane }
    this.#keys.set(key, entry)
    return entry
  }

  /** Undefined for a key that no lock can have: it would spoil the call for the other keys. */
  #laneOf(key: string): LookLane | undefined {
    const { queue, store, clock, onEvent } = this.#options
    let node = ''
    try {
      node = store.nodeOf(key)
    } catch (error) {
      if (error instanceof InvalidOptionError) return undefined
    }
    const known = this.#lanes.get(node)
    if (known) return known
    // Nodes come and go.
    for (const [name, each] of this.#lanes) if (each.isIdle) this.#lanes.delete(name)
    const lane = new LookLane({ queue, clock, onEvent })
    this.#lanes.set(node, lane)
    return lane
  }
}
