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
  /** It may have its turn, or is no longer in the queue. */
  told(): void
  /** Looks stay unanswered, for this reason. */
  unanswered(failure: Unknown): void
}

type Key = ContendedKey<Member>

/**
 * The queued waiters of one process and locker: their inbox, and the timer that is under every wait.
 *
 * The inbox tells whose turn it is. Messages may be lost, and holders die without one. So for each key that somebody queues for the
 * store is asked now and then, and when it has said that something will end: who has the turn, and who is no longer in the queue.
 * Those ask again. Keys that are due at about the same time share one request.
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
  /** Those who wait, and those who leave. */
  readonly #members = new Map<number, Member>()
  /** The keys of the last that have ended. */
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

  /** A waiter is about to enter a queue. Answers what settles once the inbox hears, or is known not to. */
  add(waiter: Member): Promise<void> {
    this.#members.set(waiter.number, waiter)
    return this.inbox.open()
  }

  /** Whether a waiter may enter a queue. */
  has(waiter: Member): boolean {
    return this.#members.has(waiter.number)
  }

  /** The store has answered that a waiter is in the queue, and when a look is worth it. */
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

  /** The time of a waiter is over. Without an answer to the last look, nobody can say that the lock is still held. */
  timeUp(waiter: Member): void {
    const failure = this.#keys.get(waiter.plan.key)?.failure
    if (failure) waiter.unanswered(failure)
  }

  /** A waiter waits no more. Until it is removed it hears of a turn that a late try brings it. */
  ended(waiter: Member): void {
    const contended = this.#keys.get(waiter.plan.key)
    contended?.waiters.delete(waiter)
    if (!contended || contended.waiters.size > 0) return
    this.#keys.delete(contended.key)
    contended.close()
    if (this.#keys.size === 0) this.#disarm()
  }

  /** Nothing is left of a waiter. */
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
      // Nobody wants this turn: a late duplicate of a try has entered who had gone. Kept, it would cost the living their places.
      const request = { key, inbox: this.inbox.name, number, acquisitionId: undefined }
      this.#context.work.background(() => leaveOnce(this.#context, request))
    }
  }

  // --- the timer ---

  /** Makes sure that a look for this key comes when the store has said that it is worth it, and in time. */
  #lookIn(contended: Key, againInMs: number | null, recheckMs: number): void {
    const nowMs = this.#context.clock.monotonicMs()
    const againMs = againInMs === null ? Infinity : againInMs && againInMs + afterExpiryMs
    const atMs = Math.max(nowMs + Math.min(againMs, recheckMs), contended.lookedMs + leastLookPauseMs)
    if (atMs >= contended.dueMs) return
    contended.dueMs = atMs
    contended.isRecheck = recheckMs < againMs
    // One that is wanted while another is under way comes after it.
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
        // It enters again, at the end.
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
