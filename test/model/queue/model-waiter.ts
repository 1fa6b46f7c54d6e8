import type { AcquireOutcome } from '@leasehold/core/adapter'
import type { QueuedAcquireOutcome } from '../../../packages/core/src/store/queue.ts'
import { httpAliveMs, httpWindowMs, priorityStepMs } from '../../../packages/core/src/store/queue-figures.ts'
import type { ModelProcess } from './model-process.ts'
import { key } from './model-store.ts'
import type { World } from './world.ts'

/** An attempt gets half of the command deadline of 2 s. */
const attemptMs = 1_000

/** The part of a ttl that its holder trusts, by a clock that may be 0.5 % off. */
const trustedMs = (ttlMs: number): number => ttlMs - (ttlMs * 0.01 + 2)

/** What a waiter wants, and its fate. */
export interface Wish {
  readonly plain: boolean
  /** Does not wait. */
  readonly tries: boolean
  readonly holdMs: number
  readonly permits: number
  readonly abortAfterMs: number | undefined
  readonly ttlMs: number
  readonly priorityClass: number
  readonly diesUnpolled: boolean
}

/** When a caller believes that it has the lock. */
export interface Belief {
  readonly fromMs: number
  untilMs: number
  readonly waiter: ModelWaiter
}

/** One acquire, from its first try to its release: asking ⇄ queued → held → ended. */
export class ModelWaiter {
  readonly world: World
  readonly process: ModelProcess
  readonly number: number
  readonly wish: Wish
  state: 'new' | 'asking' | 'queued' | 'held' | 'ended' = 'new'
  /** The waiter's place among those of its process, as far as the process knows. */
  placeMs = 0
  queuedAtMs = -Infinity
  arrivedMs: number | undefined
  /** When its caller got the lock. */
  beganMs: number | undefined
  gaveUpMs: number | undefined
  fence: number | undefined
  draws = 0
  // What the observer saw:
  enteredMs: number | undefined
  servedMs: number | undefined
  /** How often the waiter entered. */
  entries = 0
  passedOver = false
  #acquisitionId = ''
  #token = ''
  #belief: Belief | undefined
  #validUntilMs = 0
  #attempt = 0
  #polls = 0
  #renewals = 0
  #unanswered = 0
  #capacity: number

  constructor(world: World, number: number, process: ModelProcess, wish: Wish) {
    this.world = world
    this.number = number
    this.process = process
    this.wish = wish
    this.#capacity = world.load.kind.capacity
    process.waiters.push(this)
  }

  get name(): string {
    return `${this.process.inbox}.${this.number}`
  }

  get plain(): boolean {
    return this.wish.plain
  }

  get waits(): boolean {
    return this.state === 'asking' || this.state === 'queued'
  }

  toString(): string {
    return `w${this.number} of p${this.process.number}`
  }

  // --- Asking ---

  start(): void {
    this.arrivedMs = this.world.nowMs
    this.#capacity = this.world.capacity
    if (this.wish.permits > this.#capacity) this.giveUp()
    this.#draw()
    if (this.wish.abortAfterMs !== undefined) this.process.after(this.wish.abortAfterMs, () => this.giveUp())
  }

  askAgain(): void {
    this.state = 'asking'
    this.#ask()
  }

  /** Draws a new acquisition id; the name stays. */
  #draw(): void {
    if (this.state === 'ended') return
    this.draws++
    this.#acquisitionId = (this.number * 1_000 + this.draws).toString(16).padStart(32, '0')
    this.askAgain()
  }

  #ask(): void {
    const { process, wish } = this
    const { cautious, aliveMs } = this.world.behaviour
    const { inbox } = process
    this.#polls++
    this.#unanswered++
    const attempt = ++this.#attempt
    const acquisitionId = this.#acquisitionId
    const answered = (outcome: QueuedAcquireOutcome | AcquireOutcome, sentAtMs: number): void =>
      this.#answered(outcome, sentAtMs, acquisitionId)
    if (cautious && this.#unanswered > 2 && !wish.plain) {
      // Otherwise a try whose answer nobody hears keeps a lock that nobody has.
      process.call('look', { key, inbox, aliveMs, numbers: [this.number] }, () => {
        this.#unanswered = 0
        if (attempt === this.#attempt && this.state === 'asking') this.#ask()
      })
    } else if (wish.plain) {
      process.call('plain acquire', { key, acquisitionId, ttlMs: wish.ttlMs, fences: 1 }, answered)
    } else {
      process.call('acquire', this.#request(acquisitionId), answered)
    }
    process.after(attemptMs, () => attempt === this.#attempt && this.state === 'asking' && this.#ask())
  }

  #request(acquisitionId: string) {
    const { process, wish, number } = this
    const { behaviour, load } = this.world
    const { permits, ttlMs, priorityClass } = wish
    const { inbox, http } = process
    const waiter = {
      inbox,
      number,
      priorityClass,
      listens: !http,
      aliveMs: http ? (behaviour.shortFirst ? httpWindowMs : httpAliveMs) : behaviour.aliveMs,
      windowMs: http ? httpWindowMs : behaviour.windowMs,
    }
    const kind = { ...load.kind, capacity: this.#capacity }
    return { key, kind, permits, acquisitionId, ttlMs, waiter: wish.tries ? undefined : waiter }
  }

  #answered(outcome: QueuedAcquireOutcome | AcquireOutcome, sentAtMs: number, acquisitionId: string): void {
    const { world, process, wish } = this
    const waiting = acquisitionId === this.#acquisitionId && this.waits
    this.#unanswered = 0
    if (outcome.type === 'granted') {
      const datedMs = world.behaviour.dating === 'sent' ? sentAtMs : world.nowMs
      const untilMs = datedMs + trustedMs(wish.ttlMs) / process.rate
      if (waiting && untilMs - world.nowMs >= wish.ttlMs / 3) {
        this.#hold(outcome.token, outcome.fence, untilMs)
      } else if (waiting) {
        // Too late: it is given back, and one more try follows.
        this.#giveBack(outcome.token, 3)
        this.#draw()
      } else if (this.#token !== outcome.token) {
        this.#giveBack(outcome.token, 3)
      } else if (this.state === 'held') {
        this.#extend(untilMs)
      }
    } else if (outcome.type === 'spent') {
      if (waiting && world.behaviour.drawsAgain) this.#draw()
    } else if (outcome.type === 'held') {
      if (waiting) this.#contended(outcome.expiresInMs ?? Infinity)
    } else if (outcome.type === 'queued') {
      if (waiting && this.state === 'asking') this.#queued(sentAtMs, outcome.againInMs ?? Infinity)
    } else if (waiting) {
      this.#refused()
    }
  }

  /** A plain acquire looks again; for a try, this is the answer. */
  #contended(expiresInMs: number): void {
    this.#attempt++
    if (this.wish.tries) {
      this.giveUp()
      return
    }
    const recheckMs = Math.min(expiresInMs, this.world.behaviour.recheckMs)
    this.process.after(recheckMs + this.world.between(0, 20), () => this.lookMyself())
    this.state = 'queued'
  }

  #queued(sentAtMs: number, againInMs: number): void {
    this.#attempt++
    this.state = 'queued'
    this.queuedAtMs = sentAtMs
    this.placeMs ||= sentAtMs + this.wish.priorityClass * priorityStepMs
    if (this.process.http) this.#poll()
    else this.process.arm(againInMs + 5)
  }

  /** The request is refused for its capacity, which has changed. */
  #refused(): void {
    const { capacity } = this.world
    if (capacity === this.#capacity || this.wish.permits > capacity) {
      this.giveUp()
    } else {
      this.#capacity = capacity
      this.askAgain()
    }
  }

  /** Over HTTP: one long poll of 25 s at the bridge. If it stays unanswered, the worker looks for itself 5 s later. */
  #poll(): void {
    if (this.wish.diesUnpolled) {
      this.process.dead = true
      this.process.absences.push([this.world.nowMs, Infinity])
      return
    }
    this.world.bridge.open(this)
    const polls = this.#polls
    this.process.after(30_000, () => polls === this.#polls && this.lookMyself())
  }

  lookMyself(): void {
    if (this.state === 'queued') this.askAgain()
  }

  // --- Holding ---

  #hold(token: string, fence: number, untilMs: number): void {
    const { world, process, wish } = this
    this.state = 'held'
    this.#token = token
    this.fence = fence
    this.#validUntilMs = untilMs
    this.#attempt++
    this.beganMs = world.nowMs
    this.#belief = { fromMs: world.nowMs, untilMs, waiter: this }
    world.beliefs.push(this.#belief)
    process.after(wish.holdMs, () => this.#release())
    this.#watch()
    this.#renewIn(Math.min(wish.ttlMs / 3, (untilMs - world.nowMs) / 2))
  }

  #extend(untilMs: number): void {
    if (untilMs <= this.#validUntilMs || this.#validUntilMs <= this.world.nowMs) return
    this.#validUntilMs = untilMs
    if (this.#belief) this.#belief.untilMs = untilMs
  }

  #watch(): void {
    if (this.state !== 'held') return
    const leftMs = this.#validUntilMs - this.world.nowMs
    if (leftMs <= 0) this.#end()
    else this.process.after(leftMs * this.process.rate + 0.01, () => this.#watch())
  }

  #renewIn(ms: number): void {
    const renewal = ++this.#renewals
    this.process.after(ms, () => renewal === this.#renewals && this.#renew())
  }

  #renew(): void {
    if (this.state !== 'held') return
    const { process, world } = this
    const { ttlMs } = this.wish
    const verb = world.isShared ? 'renew' : 'plain renew'
    process.call(verb, { key, token: this.#token, ttlMs }, ({ type }, sentAtMs) => {
      if (this.state !== 'held') return
      if (type === 'renewed') {
        this.#extend(sentAtMs + trustedMs(ttlMs) / process.rate)
        this.#renewIn(ttlMs / 3)
      } else {
        this.#endBelief()
        this.#end()
      }
    })
    this.#renewIn(Math.max(20, Math.min(attemptMs / 2, ttlMs / 12)))
  }

  #release(): void {
    if (this.state !== 'held') return
    this.#endBelief()
    this.#end()
  }

  #endBelief(): void {
    if (this.#belief) this.#belief.untilMs = Math.min(this.#belief.untilMs, this.world.nowMs)
  }

  /** On release or loss: one release request, repeated while unanswered. */
  #end(): void {
    this.state = 'ended'
    this.#giveBack(this.#token, 3)
  }

  giveUp(): void {
    if (!this.waits && this.state !== 'new') return
    this.state = 'ended'
    this.gaveUpMs = this.world.nowMs
    this.#leave(this.world.behaviour.repeatsLeave ? 8 : 1, true)
  }

  #giveBack(token: string, tries: number): void {
    const { process, wish, world } = this
    let answered = false
    const done = (): void => {
      answered = true
    }
    if (wish.plain) process.call('plain release', { key, token }, done)
    else process.call('release', { key, exclusive: !world.isShared, token, keep: 0 }, done)
    if (tries > 1) process.after(attemptMs, () => !answered && this.#giveBack(token, tries - 1))
  }

  /** Repeated while unanswered. One that found nothing is sent once more, later: a try may still be in flight. */
  #leave(tries: number, onceMore: boolean): void {
    const { process, wish, number } = this
    const acquisitionId = this.#acquisitionId
    let answered = false
    const done = ({ type }: { readonly type: string }): void => {
      if (!answered && onceMore && type !== 'left' && type !== 'released') {
        process.after(2 * attemptMs, () => this.#leave(2, false))
      }
      answered = true
    }
    if (wish.plain) process.call('plain release', { key, acquisitionId }, done)
    else process.call('leave', { key, inbox: process.inbox, number, acquisitionId }, done)
    if (tries > 1) process.after(attemptMs, () => !answered && this.#leave(tries - 1, onceMore))
  }
}
