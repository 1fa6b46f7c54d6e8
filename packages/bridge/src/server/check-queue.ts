import { type Clock, InvalidOptionError } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import type { OnBridgeEvent } from './bridge-events.ts'
import { CheckLane } from './check-lane.ts'
import type { Check, Seen } from './paced-check.ts'

export interface CheckQueueOptions {
  readonly store: Pick<LeaseStore, 'checkHolders' | 'nodeOf'>
  readonly clock: Clock
  readonly onEvent: OnBridgeEvent
}

/** Asks the store about all keys that somebody waits for, in few calls. A silent node delays only its own keys. */
export class CheckQueue {
  readonly #options: CheckQueueOptions
  /** The lanes, keyed by the name of their node. */
  readonly #lanes = new Map<string, CheckLane>()

  constructor(options: CheckQueueOptions) {
    this.#options = options
  }

  /** Never rejects. A check that nobody needs anymore when it could be sent is neither sent nor counted. */
  readonly check: Check = (key, reason, wanted = () => true) =>
    new Promise((resolve) => {
      const settle = (seen: Seen): void => {
        if (seen.type !== 'unwanted') this.#options.onEvent({ type: 'check', reason, outcome: countedAs[seen.type] })
        resolve(seen)
      }
      const node = this.#nodeOf(key)
      if (node === undefined) return settle({ type: 'bad-key' })
      this.#lane(node).add({ key, reason, wanted, sinceMs: this.#options.clock.monotonicMs(), settle })
    })

  /** Undefined for a key that no lock can have: it would spoil the call for the other keys. */
  #nodeOf(key: string): string | undefined {
    try {
      return this.#options.store.nodeOf(key)
    } catch (error) {
      // Any other error will show up in the call.
      return error instanceof InvalidOptionError ? undefined : ''
    }
  }

  #lane(node: string): CheckLane {
    const { store, clock, onEvent } = this.#options
    const known = this.#lanes.get(node)
    if (known) return known
    // Nodes come and go.
    for (const [name, each] of this.#lanes) if (each.isIdle) this.#lanes.delete(name)
    const lane = new CheckLane({
      store,
      clock,
      onAsked: (keys, problem) => onEvent({ type: 'store-asked', keys, ...(problem && { problem }) }),
    })
    this.#lanes.set(node, lane)
    return lane
  }
}

const countedAs = { checked: 'answered', unavailable: 'unanswered', 'bad-key': 'bad-key' } as const
