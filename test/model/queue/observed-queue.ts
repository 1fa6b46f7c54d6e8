import type { TellTurn } from '../../../packages/core/src/memory/queue/lock-queue.ts'
import type { Waiter } from '../../../packages/core/src/memory/queue/waiter.ts'
import type { QueuedWaiter } from '../../../packages/core/src/store/queue.ts'
import type { Rules } from './model-store.ts'

/** Is notified of what happens to waiters, by their names. */
export interface Observer {
  onEntered(name: string): void
  /** The waiter lost its place. */
  onPassedOver(name: string): void
  /** The waiter has the turn, or takes the lock without one. */
  onServed(name: string): void
}

/** The rules, with an observer. It changes nothing. */
export const observed = (Base: Rules, { onEntered, onPassedOver, onServed }: Observer): Rules =>
  class extends Base {
    override enter(waiter: QueuedWaiter, permits: number, subscribers: number): Waiter {
      const entered = super.enter(waiter, permits, subscribers)
      onEntered(entered.name)
      return entered
    }

    override remove(waiter: Waiter): void {
      if (!this.stands(waiter) || !this.isAlive(waiter)) onPassedOver(waiter.name)
      super.remove(waiter)
    }

    override give(held: number, asking: Waiter | undefined, tell: TellTurn): boolean {
      const takes = super.give(held, asking, tell)
      if (takes) onServed((asking as Waiter).name)
      return takes
    }

    override giveTurn(waiter: Waiter, tell: TellTurn): void {
      onServed(waiter.name)
      super.giveTurn(waiter, tell)
    }
  }

/**
 * The rules where the server counts no subscribers, although messages arrive: on another cluster node, or at a replica.
 */
export const uncounting = (Base: Rules): Rules =>
  class extends Base {
    override heard(inbox: string, aliveMs: number): void {
      super.heard(inbox, aliveMs, 0)
    }

    override enter(waiter: QueuedWaiter, permits: number): Waiter {
      return super.enter(waiter, permits, 0)
    }

    override giveTurn(waiter: Waiter, tell: TellTurn): void {
      super.giveTurn(waiter, (...turn) => {
        tell(...turn)
        return 0
      })
    }
  }
