import type { QueueKind } from '../../store/queue.ts'
import { queueMemoryMs } from '../../store/queue-figures.ts'
import { cursorOf } from '../../store/token.ts'
import type { LockKeeper } from '../lock-keeper.ts'
import { exclusiveHolding, type Holding, permitHolding } from './holding.ts'
import type { LockQueue } from './lock-queue.ts'
import type { Waiter } from './waiter.ts'

/** One request about one lock, at one moment: who has it, who waits for it, and the store around them. */
export class QueueVisit {
  readonly keeper: LockKeeper
  readonly key: string
  readonly nowMs: number
  readonly queue: LockQueue
  holding: Holding

  constructor(keeper: LockKeeper, key: string, makeQueue: MakeQueue) {
    this.keeper = keeper
    this.key = key
    this.nowMs = keeper.clock.monotonicMs()
    this.queue = keeper.tables.queues.get(key, this.nowMs)?.value ?? makeQueue(exclusive)
    this.holding = this.#hold()
  }

  begin(): void {
    this.queue.begin(this.nowMs, this.holding.permits)
  }

  /** The kinds that the lock has now: more than one only if a plain lock was put in the place of several holders. */
  kinds(): readonly QueueKind[] {
    const { kind, length, holders } = this.queue
    const kinds = length > 0 || holders.size > 0 ? [kind] : []
    return this.keeper.tables.locks.get(this.key, this.nowMs) ? [exclusive, ...kinds] : kinds
  }

  /** Gives the lock this kind. Nobody has it or waits for it, or only the capacity changes. */
  become(kind: QueueKind): void {
    this.queue.kind = kind
    this.holding = this.#hold()
  }

  /** Moves the queue on. Returns whether `asking` takes the lock. */
  give(asking?: Waiter): boolean {
    const { keeper, key } = this
    return this.queue.give(this.holding.permits, asking, ({ inbox, number, name }, listens) =>
      listens ? keeper.inboxes.tell(inbox, `turn ${number}`) : keeper.announce(key, `turn ${name}`),
    )
  }

  /**
   * Moves the queue on after a lease ended, somebody left or the capacity changed. Notifies the key's channel if a
   * lease ended and nobody queues, or if somebody has to look because there are more dead waiters than one call drops.
   * Returns how many heard it; null if it was not announced.
   */
  pass(ended: string | undefined): number | null {
    this.give()
    const { length, moreToDrop } = this.queue
    if (!moreToDrop && (length > 0 || ended === undefined)) return null
    return this.keeper.announce(this.key, `released ${cursorOf(ended ?? '')}`)
  }

  /** In how many milliseconds to look again at the latest; null if nothing is known to end. */
  againInMs(): number | null {
    if (this.queue.moreToDrop) return 0
    const leaseMs = (this.holding.first?.expiresAtMs ?? Infinity) - this.nowMs
    const againMs = Math.min(leaseMs, this.queue.nextTurnEndMs() - this.queue.timeMs)
    return againMs === Infinity ? null : Math.ceil(againMs)
  }

  /** Keeps the queue as long as anybody in it may be alive, and deletes it once it is empty. */
  end(): void {
    const { key, nowMs, queue } = this
    const { queues } = this.keeper.tables
    if (queue.length === 0 && queue.holders.size === 0) {
      queues.delete(key)
      return
    }
    let expiresAtMs = nowMs + queueMemoryMs
    for (const holder of queue.holders.values()) expiresAtMs = Math.max(expiresAtMs, holder.expiresAtMs)
    queues.set(key, queue, expiresAtMs, nowMs)
  }

  #hold(): Holding {
    return this.queue.kind.name === 'exclusive'
      ? exclusiveHolding(this.keeper, this.key, this.nowMs)
      : permitHolding(this.keeper, this.key, this.queue, this.nowMs)
  }
}

const exclusive: QueueKind = { name: 'exclusive', capacity: 1 }

export type MakeQueue = (kind: QueueKind) => LockQueue
