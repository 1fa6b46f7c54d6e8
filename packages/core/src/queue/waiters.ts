import type { Plan } from '../options.ts'
import { failed, isUnknown, silence } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { Unknown } from '../store/lease-store.ts'
import type { LookOutcome, QueueStore } from '../store/queue.ts'
import { mostRecheckMs } from '../store/queue-figures.ts'
import { deadline } from '../timing/deadline.ts'
import type { Inbox } from '../waiting/inbox.ts'
import { recheckMs } from '../waiting/pacing.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import { Arrivals } from './arrivals.ts'
import { ContendedKey, type Named } from './contended-key.ts'
import { afterExpiryMs, leastLookPauseMs, mostEnded, mostKeysPerLook } from './figures.ts'
import { leaveOnce } from './leaving.ts'
import { OwnInbox } from './own-inbox.ts'
import type { QueuedContext } from './queued-context.ts'

/** A waiter, as its process knows it. */
export interface Member extends Named {
  readonly plan: Plan
  /** Called when it may have its turn, or is no longer in the queue. */
  told(): void
  /** Called when looks stay unanswered, with the reason. */
  unanswered(failure: Unknown): void
}

type Key = ContendedKey<Member>

/**
 * The queued waiters of one process and locker, their inbox, and the timer that backs every wait.
 *
 * The inbox tells whose turn it is. But messages may be lost, and holders die without sending one. So for each key that
 * somebody queues for, the store is asked who has the turn and who is no longer in the queue: now and then, and when it
 * has said that something will end. Those waiters ask again. Keys that are due at about the same time share one
 * request.
 *
 * Nothing is left after the last waiter: no timer, no listener, no subscription.
 */
export class Waiters {
  readonly #context: QueuedContext
  readonly #port: QueueStore
  readonly #notifier: ReleaseNotifier
  readonly inbox: OwnInbox
  readonly arrivals: Arrivals = new Arrivals()
  #numbers = 0
  /** The waiters that wait, and those that are leaving. */
  readonly #members = new Map<number, Member>()
  /** The keys of the waiters that ended last, by their numbers. */
  readonly #ended = new Map<number, string>()
  readonly #keys = new Map<string, Key>()
  #timerAtMs = Infinity
  #cancelTimer: (() => void) | undefined

  constructor(context: QueuedContext, port: QueueStore, notifier: ReleaseNotifier, inboxes: Inbox) {
    this.#context = context
    this.#port = port
    this.#notifier = notifier
    this.inbox = new OwnInbox(context.clock, inboxes, (message) => this.#heard(message))
  }

  nextNumber(): number {
    return ++this.#numbers
  }

  recheckMs(plan: Plan): number {
    return Math.min(recheckMs(plan, this.#notifier), mostRecheckMs)
  }

  /** Adds a waiter that is about to enter a queue. Settles once the inbox hears, or is known not to. */
  add(waiter: Member): Promise<void> {
    this.#members.set(waiter.number, waiter)
    return this.inbox.open()
  }

  /** Whether a waiter may enter a queue. */
  has(waiter: Member): boolean {
    return this.#members.has(waiter.number)
  }

  /** Called when the store has answered that a waiter is in the queue, and when a look is worthwhile. */
  queued(waiter: Member, againInMs: number | null): void {
    const { key } = waiter.plan
    const contended = this.#keys.get(key) ?? this.#contend(key)
    contended.waiters.add(waiter)
    contended.failure = undefined
    this.#lookIn(contended, againInMs, waiter.recheckMs)
  }

  #contend(key: string): Key {
    const contended: Key = new ContendedKey(key, this.#notifier, () => this.#lookIn(contended, 0, 0))
    this.#keys.set(key, contended)
    return contended
  }

  /** Called when a waiter's time is up. Without an answer to the last look, nobody can say the lock is still held. */
  timeUp(waiter: Member): void {
    const failure = this.#keys.get(waiter.plan.key)?.failure
    if (failure) waiter.unanswered(failure)
  }

  /** Called when a waiter no longer waits. Until it is removed, it still hears of a turn that a late try brings it. */
  ended(waiter: Member): void {
    const contended = this.#keys.get(waiter.plan.key)
    contended?.waiters.delete(waiter)
    if (!contended || contended.waiters.size > 0) return
    this.#keys.delete(contended.key)
    contended.close()
    if (this.#keys.size === 0) this.#disarm()
  }

  /** Called when nothing is left of a waiter. */
  remove(waiter: Member): void {
    this.ended(waiter)
    if (!this.#members.delete(waiter.number)) return
    this.#ended.set(waiter.number, waiter.plan.key)
    for (const [oldest] of this.#ended) {
      if (this.#ended.size <= mostEnded) break
      this.#ended.delete(oldest)
    }
    if (this.#members.size === 0) this.inbox.close()
  }

  #heard(message: string | undefined): void {
    if (message === undefined) for (const contended of this.#keys.values()) this.#lookIn(contended, 0, 0)
    const [, number] = /^turn (\d+)$/.exec(message ?? '') ?? []
    if (number) this.#turn(Number(number), this.#ended.get(Number(number)))
  }

  /** @param key of a waiter that has ended, if it is known */
  #turn(number: number, key: string | undefined): void {
    const waiter = this.#members.get(number)
    if (waiter) waiter.told()
    else if (key !== undefined) {
      // Nobody wants this turn: a late duplicate of a try has entered a waiter that had gone. Kept, the turn would cost
      // living waiters their places.
      const request = { key, inbox: this.inbox.name, number, acquisitionId: undefined }
      this.#context.work.background(() => leaveOnce(this.#context, request))
    }
  }

  // --- the timer ---

  /**
   * Makes sure that a look for this key comes when the store has said that it is worthwhile, and after the recheck at
   * the latest.
   */
  #lookIn(contended: Key, againInMs: number | null, recheckMs: number): void {
    const nowMs = this.#context.clock.monotonicMs()
    const againMs = againInMs === null ? Infinity : againInMs && againInMs + afterExpiryMs
    const atMs = Math.max(nowMs + Math.min(againMs, recheckMs), contended.lookedMs + leastLookPauseMs)
    if (atMs >= contended.dueMs) return
    contended.dueMs = atMs
    contended.isRecheck = recheckMs < againMs
    // A look that is wanted while another is in flight comes after it.
    if (!contended.isLooking) this.#arm(atMs)
  }

  #arm(atMs: number): void {
    if (atMs >= this.#timerAtMs) return
    this.#disarm()
    this.#timerAtMs = atMs
    const delayMs = Math.max(0, atMs - this.#context.clock.monotonicMs())
    this.#cancelTimer = this.#context.background.schedule(() => this.#onTimer(), delayMs, 'background')
  }

  #disarm(): void {
    this.#cancelTimer?.()
    this.#timerAtMs = Infinity
  }

  #onTimer(): void {
    this.#timerAtMs = Infinity
    const nowMs = this.#context.clock.monotonicMs()
    const byNode = new Map<string, Key[]>()
    for (const contended of this.#keys.values()) {
      const earlyMs = contended.isRecheck ? mostRecheckMs / 4 : 1
      if (contended.isLooking || contended.dueMs > nowMs + earlyMs) continue
      const node = this.#context.store.nodeOf(contended.key)
      byNode.set(node, [...(byNode.get(node) ?? []), contended])
    }
    for (const due of byNode.values()) {
      while (due.length > 0) void this.#look(due.splice(0, mostKeysPerLook))
    }
    this.#armAll()
  }

  #armAll(): void {
    let atMs = Infinity
    for (const { dueMs, isLooking } of this.#keys.values()) if (!isLooking) atMs = Math.min(atMs, dueMs)
    if (atMs < Infinity) this.#arm(atMs)
  }

  /** Asks the store about the waiters of some keys. */
  async #look(keys: readonly Key[]): Promise<void> {
    const { clock, store } = this.#context
    const askedMs = clock.monotonicMs()
    const asked = keys.map((contended) => ({ contended, waiters: contended.first() }))
    const requests = asked.map(({ contended, waiters }) => {
      contended.isLooking = true
      contended.lookedMs = askedMs
      contended.dueMs = Infinity
      const numbers = waiters.map(({ number }) => number)
      return { key: contended.key, inbox: this.inbox.name, aliveMs: this.inbox.lives.aliveMs, numbers }
    })
    const read = (outcomes: readonly LookOutcome[] | Unknown): void => {
      for (const [index, { contended, waiters }] of asked.entries()) {
        this.#read(contended, waiters, isUnknown(outcomes) ? outcomes : (outcomes[index] ?? silence), askedMs)
      }
    }
    const { outcome } = await ask<readonly LookOutcome[]>(this.#context, Infinity, {
      once: true,
      leftMs: deadline(clock, store.commandDeadlineMs / 2),
      onLate: read,
      send: (attempt) => attempt.follow(this.#port.look(requests, attempt)),
    }).catch(failed(this.#context))
    for (const { contended } of asked) contended.isLooking = false
    read(outcome)
    this.#armAll()
  }

  #read(contended: Key, waiters: readonly Member[], outcome: LookOutcome, askedMs: number): void {
    contended.failure = isUnknown(outcome) ? outcome : undefined
    if (outcome.type === 'refused') waiters[0]?.told()
    else if (outcome.type === 'looked') {
      for (const number of outcome.turns) this.#turn(number, contended.key)
      const missing = new Set(outcome.missing)
      for (const waiter of waiters) {
        if (!missing.has(waiter.number) || !waiter.isQueued) continue
        // It enters the queue again, at the end.
        contended.waiters.delete(waiter)
        waiter.told()
      }
    }
    if (this.#keys.get(contended.key) === contended) {
      const againInMs = outcome.type === 'looked' ? outcome.againInMs : null
      const passedMs = this.#context.clock.monotonicMs() - askedMs
      this.#lookIn(contended, againInMs, Math.max(0, contended.recheckMs() - passedMs))
    }
  }
}
