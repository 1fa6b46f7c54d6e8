import type { Inbox } from '../../../packages/core/src/memory/queue/inboxes.ts'
import type { TellTurn } from '../../../packages/core/src/memory/queue/lock-queue.ts'
import type { Waiter } from '../../../packages/core/src/memory/queue/waiter.ts'
import type { QueuedWaiter } from '../../../packages/core/src/store/queue.ts'
import { LittleWork } from './scenarios.ts'

/*
 * Each class is the rules with one of them in a naive form.
 */

/** A waiter not heard of for long keeps its place. */
export class Immortal extends LittleWork {
  override isAlive(): boolean {
    return true
  }
}

/** The front waiter is told, but whoever asks first gets the lock. */
export class FirstCome extends LittleWork {
  override give(held: number, asking: Waiter | undefined, tell: TellTurn): boolean {
    if (super.give(held, asking, tell)) return true
    if (!asking || held + asking.permits > this.kind.capacity) return false
    this.remove(asking)
    return true
  }
}

/** A lock counts as free although somebody has it. */
export class HeldUncounted extends LittleWork {
  override give(_held: number, asking: Waiter | undefined, tell: TellTurn): boolean {
    return super.give(0, asking, tell)
  }
}

/** A better class goes first, however much later it comes. */
export class StrictPriority extends LittleWork {
  override ticket(name: string, priorityClass: number): number {
    return super.ticket(name, 1_000_000 * priorityClass)
  }
}

/** All classes are alike. */
export class NoPriority extends LittleWork {
  override ticket(name: string): number {
    return super.ticket(name, 0)
  }
}

/** Who comes with a better class takes the turn of whoever has it. */
export class TurnsTaken extends LittleWork {
  override enter(waiter: QueuedWaiter, permits: number, subscribers: number): Waiter {
    const entered = super.enter(waiter, permits, subscribers)
    const others = this.first(Infinity).filter((it) => it.turnUntilMs !== null && it.ticket > entered.ticket)
    for (const other of others) this.withdraw(other)
    return entered
  }
}

/** A turn that was not taken is given to the same waiter again. */
export class GivenAgain extends LittleWork {
  override onMissed(waiter: Waiter): void {
    this.withdraw(waiter)
  }
}

/** Only the waiter that did not take its turn is dropped, not all waiters of its process. */
export class OneDropped extends LittleWork {
  override onMissed(waiter: Waiter): void {
    this.remove(waiter)
  }
}

/** A process that does not take its turn is passed over until it is heard of again. It keeps its places. */
export class Silent extends LittleWork {
  readonly #silent: Set<string> = new Set()

  override onMissed(waiter: Waiter): void {
    this.#silent.add(waiter.inbox)
    this.withdraw(waiter)
  }

  override heard(inbox: string, aliveMs: number, subscribers: number): void {
    this.#silent.delete(inbox)
    super.heard(inbox, aliveMs, subscribers)
  }

  override isAlive(waiter: Waiter): boolean {
    return super.isAlive(waiter) && !this.#silent.has(waiter.inbox)
  }
}

/** A waiter that enters again gets its old place. */
export class PlacesKept extends LittleWork {
  readonly #tickets: Map<string, number> = new Map()

  override ticket(name: string, priorityClass: number): number {
    const ticket = this.#tickets.get(name) ?? super.ticket(name, priorityClass)
    this.#tickets.set(name, ticket)
    return ticket
  }
}

/** A turn that a plain acquire, or a smaller capacity, has overtaken counts as not taken. */
export class OvertakenIsMissed extends LittleWork {
  override withdrawOvertaken(): void {
    // The turn stays.
  }
}

/** Outstanding turns are not counted. */
export class TurnsUncounted extends LittleWork {
  override fits(waiter: Waiter, held: number): boolean {
    return held + waiter.permits <= this.kind.capacity
  }
}

/** A waiter that does not fit is skipped. */
export class Skipping extends LittleWork {
  #held = 0

  override give(held: number, asking: Waiter | undefined, tell: TellTurn): boolean {
    this.#held = held
    return super.give(held, asking, tell)
  }

  override front(): Waiter | undefined {
    const front = super.front()
    const waiting = this.first(Infinity).filter((it) => it.turnUntilMs === null && this.stands(it) && this.isAlive(it))
    return waiting.find((it) => this.fits(it, this.#held)) ?? front
  }
}

/** An inbox without subscribers is never believed to be dead. */
export class SilenceIgnored extends LittleWork {
  override believesSilence(): boolean {
    return false
  }
}

/** An inbox that was never counted is believed to be dead. */
export class SilenceBelieved extends LittleWork {
  override believesSilence({ listens }: Inbox): boolean {
    return listens
  }
}

/** Queue time is the server's time, which goes back when its clock is set back. */
export class ServerTime extends LittleWork {
  override queueTime(nowMs: number): number {
    return nowMs
  }
}

/** The time to look again takes only holders into account. */
export class TurnEndUnknown extends LittleWork {
  override nextTurnEndMs(): number {
    return Infinity
  }
}

/** Nobody is told that more is left to drop. */
export class MoreUntold extends LittleWork {
  override get moreToDrop(): boolean {
    return false
  }
}

/** However many turns fit, all of them are given at once. */
export class EndlessTurns extends LittleWork {
  override get mostTurns(): number {
    return Infinity
  }
}

/** However many waiters are dead, all of them are dropped at once. */
export class EndlessDrops extends LittleWork {
  override get mostDropped(): number {
    return Infinity
  }
}

/** A waiter that wants more than the capacity, since that has changed, keeps its place. */
export class Hopeless extends LittleWork {
  override stands(waiter: Waiter): boolean {
    return super.stands({ ...waiter, permits: 1 })
  }
}

/** A try that does not wait takes what fits, whoever queues for it. */
export class TriesGoFirst extends LittleWork {
  override isFree(permits: number, held: number): boolean {
    return held + permits <= this.kind.capacity
  }
}

/** A voided inbox is the same one when its process enters again: its other waiters are back, with their places. */
export class OneGeneration extends LittleWork {
  override stands(waiter: Waiter): boolean {
    return super.stands(waiter) || super.isAlive(waiter)
  }
}
