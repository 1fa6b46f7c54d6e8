import type { QueuedWaiter, QueueKind } from '../../store/queue.ts'
import { mostDropped, mostTurns, priorityStepMs } from '../../store/queue-figures.ts'
import { type Inbox, Inboxes } from './inboxes.ts'
import type { PermitHolder } from './permit-holder.ts'
import { QueueTime } from './queue-time.ts'
import type { Waiter } from './waiter.ts'
import { WaiterList } from './waiter-list.ts'

/** Notifies a waiter of its turn. Returns how many subscribers heard it. */
export type TellTurn = (waiter: Waiter, listens: boolean) => number

/**
 * The queue of one lock, and its rules. A request calls `begin`, does its own work, and calls `give`. `held` is the
 * number of permits held at that moment, whoever holds them.
 *
 * Each rule that stands by itself has its own method. The model replaces these methods one at a time, to see what each
 * prevents.
 */
export class LockQueue {
  kind: QueueKind
  /** By acquisition id. Empty for a lock with one holder, where the holder is the lock's entry. */
  readonly holders: Map<string, PermitHolder> = new Map()
  /** The queue's time in the current request. */
  timeMs = 0

  readonly #time: QueueTime = new QueueTime()
  readonly #waiters: Map<string, Waiter> = new Map()
  readonly #inboxes: Inboxes = new Inboxes()
  /** Waiters with a turn. They come before all others. */
  readonly #turns: WaiterList = new WaiterList(({ turnUntilMs }) => turnUntilMs as number)
  readonly #line: WaiterList = new WaiterList(({ ticket }) => ticket)
  #lastTicket = 0
  #dropsLeft = 0
  #moreToDrop = false

  constructor(kind: QueueKind) {
    this.kind = kind
  }

  get length(): number {
    return this.#waiters.size
  }

  /** Whether the current request has left dead waiters for the next one to drop. */
  get moreToDrop(): boolean {
    return this.#moreToDrop
  }

  /** The first waiters, in order. */
  first(count: number): readonly Waiter[] {
    return [...this.#turns.all, ...this.#line.all.slice(0, count)].slice(0, count)
  }

  /** The number of waiters ahead of this one. */
  position(waiter: Waiter): number {
    return waiter.turnUntilMs === null ? this.#turns.length + this.#line.indexOf(waiter) : this.#turns.indexOf(waiter)
  }

  /** The waiter with that name, unless it is void. */
  find(name: string): Waiter | undefined {
    const waiter = this.#waiters.get(name)
    return waiter && this.stands(waiter) ? waiter : undefined
  }

  /** The waiter with that name, void or not. */
  named(name: string): Waiter | undefined {
    return this.#waiters.get(name)
  }

  withTurn(inbox: string): readonly number[] {
    return this.#turns.all.filter((waiter) => waiter.inbox === inbox).map(({ number }) => number)
  }

  /** When the next turn ends, by the queue's time. */
  nextTurnEndMs(): number {
    return this.#turns.first?.turnUntilMs ?? Infinity
  }

  // --- How each request begins ---

  begin(nowMs: number, held: number): void {
    this.timeMs = this.queueTime(nowMs)
    this.#dropsLeft = this.mostDropped
    this.#moreToDrop = false
    this.withdrawOvertaken(held)
    for (let next = this.#turns.first; next && (next.turnUntilMs as number) <= this.timeMs; next = this.#turns.first) {
      this.onMissed(next)
    }
  }

  /** The most entries that one request drops. */
  get mostDropped(): number {
    return mostDropped
  }

  /** The most turns at a time, and so the most that one request gives. */
  get mostTurns(): number {
    return mostTurns
  }

  queueTime(nowMs: number): number {
    return this.#time.at(nowMs)
  }

  /**
   * Withdraws turns that can no longer be taken, the last first: a plain acquire was quicker, or the capacity shrank.
   * The waiter is not at fault.
   */
  withdrawOvertaken(held: number): void {
    while (this.#turns.length > 0 && held + this.#turns.permits > this.kind.capacity) {
      this.withdraw(this.#turns.all.reduce((last, waiter) => (isAfter(waiter, last) ? waiter : last)))
    }
  }

  /** A process that lets a turn pass is frozen or hears nothing. All its waiters are void, and enter again at the end. */
  onMissed(waiter: Waiter): void {
    this.voidInbox(waiter.inbox)
  }

  voidInbox(inbox: string): void {
    this.#inboxes.forget(inbox)
    for (const waiter of this.#turns.all.filter((it) => it.inbox === inbox)) this.withdraw(waiter)
  }

  withdraw(waiter: Waiter): void {
    this.#turns.remove(waiter)
    waiter.turnUntilMs = null
    this.#line.add(waiter)
  }

  // --- Who is in the queue ---

  /** A call from its process keeps an inbox alive. */
  heard(inbox: string, aliveMs: number, subscribers: number): void {
    this.#inboxes.hear(inbox, this.timeMs + aliveMs, subscribers)
  }

  /** Enters a waiter at the end of its class. It replaces a void one with the same name. */
  enter(waiter: QueuedWaiter, permits: number, subscribers: number): Waiter {
    const { inbox, number, priorityClass, aliveMs, windowMs } = waiter
    const name = nameOf(inbox, number)
    const former = this.#waiters.get(name)
    if (former) this.remove(former)
    const generation = this.#inboxes.join(waiter, this.timeMs + aliveMs, subscribers)
    const ticket = this.ticket(name, priorityClass)
    const entered: Waiter = { name, inbox, number, permits, windowMs, ticket, generation, turnUntilMs: null }
    this.#waiters.set(name, entered)
    this.#line.add(entered)
    return entered
  }

  ticket(_name: string, priorityClass: number): number {
    this.#lastTicket = Math.max(this.#lastTicket + 1, Math.floor(this.timeMs * 1_000))
    return this.#lastTicket + priorityClass * priorityStepMs * 1_000
  }

  /** Removes a waiter and its turn. */
  remove(waiter: Waiter): void {
    const list = waiter.turnUntilMs === null ? this.#line : this.#turns
    list.remove(waiter)
    this.#waiters.delete(waiter.name)
    this.#inboxes.part(waiter.inbox, waiter.generation)
  }

  /** Whether a waiter's inbox was not voided since the waiter entered, and it wants no more permits than there are. */
  stands({ inbox, generation, permits }: Waiter): boolean {
    return this.#inboxes.get(inbox)?.generation === generation && permits <= this.kind.capacity
  }

  isAlive(waiter: Waiter): boolean {
    return (this.#inboxes.get(waiter.inbox)?.aliveUntilMs ?? 0) > this.timeMs
  }

  // --- Turns ---

  /**
   * Gives the turn to waiters at the front of the line as long as they fit; one that does not fit is never skipped.
   * `asking` takes the lock at once if it has the turn or gets it. Returns whether it does; it is then out of the
   * queue, and its permits count as held.
   */
  give(held: number, asking: Waiter | undefined, tell: TellTurn): boolean {
    let takes = false
    const take = (waiter: Waiter): void => {
      takes = true
      held += waiter.permits
      this.remove(waiter)
    }
    if (asking && asking.turnUntilMs !== null && held + asking.permits <= this.kind.capacity) take(asking)
    for (let next = this.front(); next && this.fits(next, held); next = this.front()) {
      if (next === asking) take(next)
      else if (this.#turns.length < this.mostTurns) this.giveTurn(next, tell)
      else break
    }
    return takes
  }

  /** An acquire that does not queue may take only what nobody queues for. */
  isFree(permits: number, held: number): boolean {
    return this.length === 0 && held + permits <= this.kind.capacity
  }

  fits(waiter: Waiter, held: number): boolean {
    return held + this.#turns.permits + waiter.permits <= this.kind.capacity
  }

  /** Drops waiters that are void, dead, or want more than there is. Returns the first of the others without a turn. */
  front(): Waiter | undefined {
    for (let next = this.#line.first; next; next = this.#line.first) {
      if (this.stands(next) && this.isAlive(next)) return next
      if (this.#dropsLeft === 0) {
        this.#moreToDrop = true
        return undefined
      }
      this.#dropsLeft--
      this.remove(next)
    }
    return undefined
  }

  giveTurn(waiter: Waiter, tell: TellTurn): void {
    this.#line.remove(waiter)
    waiter.turnUntilMs = this.timeMs + waiter.windowMs
    this.#turns.add(waiter)
    const inbox = this.#inboxes.get(waiter.inbox) as Inbox
    // Nobody listens anymore where somebody did: the process is dead. If that is wrong, its waiters lose their places.
    if (tell(waiter, inbox.listens) === 0 && this.believesSilence(inbox)) this.voidInbox(waiter.inbox)
  }

  believesSilence({ counted }: Inbox): boolean {
    return counted
  }
}

export const nameOf = (inbox: string, number: number): string => `${inbox}.${number}`

const isAfter = (one: Waiter, other: Waiter): boolean =>
  one.ticket === other.ticket ? one.name > other.name : one.ticket > other.ticket
