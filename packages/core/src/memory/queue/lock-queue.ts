import type { QueuedWaiter, QueueKind } from '../../store/queue.ts'
import { mostDropped, mostTurns, priorityStepMs } from '../../store/queue-figures.ts'
import { type Inbox, Inboxes } from './inboxes.ts'
import type { PermitHolder } from './permit-holder.ts'
import { QueueTime } from './queue-time.ts'
import type { Waiter } from './waiter.ts'
import { WaiterList } from './waiter-list.ts'

/** Tells a waiter of its turn, and answers how many heard it. */
export type TellTurn = (waiter: Waiter, listens: boolean) => number

/**
 * The queue of one lock, and its rules. A request calls `begin`, does what it is about, and calls `give`. `held` is how many permits
 * are held at that moment, whoever holds them.
 *
 * The rules that can be told apart have methods of their own, which the model replaces one at a time, to see what each prevents.
 */
export class LockQueue {
  kind: QueueKind
  /** By acquisition id. Of a lock for one holder it is empty: there the holder is the lock's entry. */
  readonly holders: Map<string, PermitHolder> = new Map()
  /** The queue's time in the present request. */
  timeMs = 0

  readonly #time: QueueTime = new QueueTime()
  readonly #waiters: Map<string, Waiter> = new Map()
  readonly #inboxes: Inboxes = new Inboxes()
  /** Those with a turn stand before all others. */
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

  /** Whether the present request has left dead waiters to the next. */
  get moreToDrop(): boolean {
    return this.#moreToDrop
  }

  /** In order. */
  first(count: number): readonly Waiter[] {
    return [...this.#turns.all, ...this.#line.all.slice(0, count)].slice(0, count)
  }

  /** How many stand before it. */
  position(waiter: Waiter): number {
    return waiter.turnUntilMs === null ? this.#turns.length + this.#line.indexOf(waiter) : this.#turns.indexOf(waiter)
  }

  /** The waiter of that name, unless it is void. */
  find(name: string): Waiter | undefined {
    const waiter = this.#waiters.get(name)
    return waiter && this.stands(waiter) ? waiter : undefined
  }

  /** The same, void or not. */
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

  /** How many entries one request drops. */
  get mostDropped(): number {
    return mostDropped
  }

  queueTime(nowMs: number): number {
    return this.#time.at(nowMs)
  }

  /**
   * A turn that can no longer be taken is withdrawn, the last first: a plain acquire was quicker, or the capacity shrank. That is no
   * fault of the waiter.
   */
  withdrawOvertaken(held: number): void {
    while (this.#turns.length > 0 && held + this.#turns.permits > this.kind.capacity) {
      this.withdraw(this.#turns.all.reduce((last, waiter) => (isAfter(waiter, last) ? waiter : last)))
    }
  }

  /** A process that does not take a turn is frozen, or hears nothing. All its waiters are void. They enter again, at the end. */
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

  /** A call of its process keeps an inbox alive. */
  heard(inbox: string, aliveMs: number, subscribers: number): void {
    this.#inboxes.hear(inbox, this.timeMs + aliveMs, subscribers)
  }

  /** Enters a waiter at the end of its class. There may be a void one of the same name. */
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

  /** Takes a waiter out, with its turn. */
  remove(waiter: Waiter): void {
    const list = waiter.turnUntilMs === null ? this.#line : this.#turns
    list.remove(waiter)
    this.#waiters.delete(waiter.name)
    this.#inboxes.part(waiter.inbox, waiter.generation)
  }

  /** Its inbox was not voided since it entered, and it does not want more than there is. */
  stands({ inbox, generation, permits }: Waiter): boolean {
    return this.#inboxes.get(inbox)?.generation === generation && permits <= this.kind.capacity
  }

  isAlive(waiter: Waiter): boolean {
    return (this.#inboxes.get(waiter.inbox)?.aliveUntilMs ?? 0) > this.timeMs
  }

  // --- Turns ---

  /**
   * Gives the turn to the front of the line, as long as they fit; what does not fit is never skipped. `asking` takes the lock at once
   * when it has the turn, or gets it. Answers whether it does; then it is out of the queue, and its permits count as held.
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
      else if (this.#turns.length < mostTurns) this.giveTurn(next, tell)
      else break
    }
    return takes
  }

  /** Without a waiter only what nobody queues for is taken. */
  isFree(permits: number, held: number): boolean {
    return this.length === 0 && held + permits <= this.kind.capacity
  }

  fits(waiter: Waiter, held: number): boolean {
    return held + this.#turns.permits + waiter.permits <= this.kind.capacity
  }

  /** Drops who is void, dead, or wants more than there is, and answers the first of the others who has no turn. */
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
    // Nobody listens any more where somebody did: the process is dead. If that is wrong, it costs a place.
    if (tell(waiter, inbox.listens) === 0 && this.believesSilence(inbox)) this.voidInbox(waiter.inbox)
  }

  believesSilence({ counted }: Inbox): boolean {
    return counted
  }
}

export const nameOf = (inbox: string, number: number): string => `${inbox}.${number}`

const isAfter = (one: Waiter, other: Waiter): boolean =>
  one.ticket === other.ticket ? one.name > other.name : one.ticket > other.ticket
