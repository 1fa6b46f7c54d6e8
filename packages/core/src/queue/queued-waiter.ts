import { sharesBetweenCalls } from '#sharing'
import { type Acquired, Acquisition, type Knowledge, nothingKnown, type Terms } from '../acquire/acquisition.ts'
import type { Context } from '../context.ts'
import type { Plan } from '../options.ts'
import { only, silence } from '../store/answered.ts'
import type { Attempt } from '../store/attempt.ts'
import type { Calls } from '../store/calls.ts'
import type {
  AcquireOutcome,
  AcquireRequest,
  InspectOutcome,
  LeaseStore,
  ReleaseOutcome,
  Unknown,
} from '../store/lease-store.ts'
import type {
  LeaveRequest,
  LookOutcome,
  QueuedAcquireOutcome,
  QueueInspection,
  QueuedWaiter as WaiterInQueue,
} from '../store/queue.ts'
import { httpAliveMs, httpWindowMs, mostRecheckMs, unkeptAliveMs } from '../store/queue-figures.ts'
import { drawAcquisitionId } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import { sleep } from '../timing/deadline.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import { placesOf } from '../waiting/kept-places.ts'
import { pollingWaiter } from '../waiting/polling-waiter.ts'
import type { Contention, ReleaseNotifier, Waiter, WaitPlan } from '../waiting/release-notifier.ts'
import { SignalCount } from '../waiting/signal-count.ts'
import type { Arrival } from './arrivals.ts'
import { readyMs } from './figures.ts'
import { leaveOnce, leaveQueue } from './leaving.ts'
import type { QueuedContext } from './queued-context.ts'
import type { Order, Queues, Wish } from './queues.ts'
import type { Member, Waiters } from './waiters.ts'

/** A number that no waiter has. A leave with it gives back a grant and takes nobody out of the queue. */
const nobody = 0

/**
 * One acquire that queues at the store. Like any other, it tries, waits and tries again. Only what it sends and what it
 * waits for are those of a queue.
 *
 * States: *asking* ⇄ *queued* → *holding*, or *leaving* → *ended*. A waiter has its name before its first try and keeps
 * it for the whole wait, so a turn that overtakes the answer to its try still finds it. It never takes a turn for a
 * grant: it asks again, and the answer counts from when that request was sent. A waiter that ends without a lease
 * leaves the queue.
 *
 * With an inbox, the waiters of a process share its name and one timer: see `Waiters`. Without one, each is alone: it
 * polls, and its inbox is a name only.
 */
export class QueuedWaiter implements Terms, Waiter, Member {
  readonly since: Instant
  readonly fences = 1
  readonly known: Knowledge = nothingKnown()
  readonly plan: Plan
  readonly number: number
  isQueued = false
  readonly #context: QueuedContext
  readonly #queues: Queues
  readonly #wish: Wish
  /**
   * The process's waiters, which are told of their turn; undefined for a waiter that is alone, and for a call that does
   * not wait.
   */
  readonly #waiters: Waiters | undefined
  readonly #inbox: string
  #acquisition: Acquisition | undefined
  /** Its place among the calls of this process that are on their way into the queue. */
  #arrival: Arrival | undefined
  /** How often it was told that a try is worthwhile, and how often it had been told when its last try was sent. */
  readonly #told = new SignalCount()
  #seen = 0
  /** The acquisition id of its last try. */
  #tried = ''
  /** How many tries may have entered it in the queue and have no answer yet. */
  #open = 0
  /** Whether the store has said that it is in the queue. */
  #entered = false
  #state: 'waiting' | 'holding' | 'leaving' = 'waiting'

  constructor(context: QueuedContext, queues: Queues, wish: Wish, plan: Plan, since: Instant) {
    this.#context = context
    this.#queues = queues
    this.#wish = wish
    this.#waiters = plan.waitMs > 0 && sharesBetweenCalls() ? queues.waiters : undefined
    this.plan = plan
    this.since = since
    this.number = this.#waiters?.nextNumber() ?? 1
    this.#inbox = this.#waiters?.inbox.name ?? drawAcquisitionId()
  }

  /** Call it once. Throws what `Acquisition` throws. */
  async run(): Promise<Acquired> {
    try {
      if (this.#waiters) await this.#arrive(this.#waiters)
      this.#acquisition = new Acquisition(this.#view(), this.plan, this)
    } catch (error) {
      this.#arrival?.over()
      this.#waiters?.remove(this)
      throw error
    }
    return this.#acquisition.run()
  }

  /**
   * While the inbox does not hear yet, the first call for a key tries before it enters. Later calls enter behind it.
   */
  async #arrive(waiters: Waiters): Promise<void> {
    const { key, signal } = this.plan
    if (waiters.inbox.isSettled && !waiters.arrivals.has(key)) {
      void waiters.add(this)
      return
    }
    this.#arrival = waiters.arrivals.begin(key)
    const { before } = this.#arrival
    if (!before) return
    const { clock, work } = this.#context
    const leftMs = (): number => this.plan.waitMs - elapsedMs(instant(clock), this.since)
    const wait = work.begin(signal)
    try {
      const heard = waiters.add(this)
      await this.#until(before, readyMs, leftMs, wait.signal)
      await this.#until(heard, waiters.inbox.patienceMs, leftMs, wait.signal)
    } finally {
      work.end(wait)
    }
  }

  /** Waits for something that may never come, and leaves time for a try after it. */
  async #until(settled: Promise<void>, limitMs: number, leftMs: () => number, signal: AbortSignal): Promise<void> {
    if (limitMs <= 0) return
    await sleep(this.#context.clock, Math.min(limitMs, leftMs() / 2), signal, (wake) => {
      void settled.then(wake)
      return this.#told.onSignal(this.#seen, wake)
    })
  }

  get recheckMs(): number {
    return this.#waiters?.recheckMs(this.plan) ?? mostRecheckMs
  }

  get priorityClass(): number {
    return (this.plan.queue as Order | undefined)?.priorityClass ?? 0
  }

  /** Makes the waiter ask again, or leave if it has given up. */
  told(): void {
    if (this.#state === 'waiting') this.#told.add()
    else if (this.#state === 'leaving') this.#leaveAgain()
  }

  /** The store has not answered for a while, so nobody can say that the lock is still held. */
  unanswered(failure: Unknown): void {
    this.#acquisition?.onSilence(failure)
  }

  wake(): void {
    this.#told.add()
  }

  async pause({ expiresInMs }: Contention, leftMs: () => number, signal: AbortSignal): Promise<void> {
    if (this.#waiters && !this.#waiters.has(this)) {
      const heard = this.#waiters.add(this)
      await this.#until(heard, this.#waiters.inbox.patienceMs, leftMs, signal)
      return
    }
    this.#waiters?.queued(this, expiresInMs)
    this.isQueued = true
    try {
      await sleep(this.#context.clock, leftMs(), signal, (wake) => this.#told.onSignal(this.#seen, wake))
      if (leftMs() <= 1) this.#waiters?.timeUp(this)
    } finally {
      this.isQueued = false
    }
  }

  close(): void {
    // A pause that has ended leaves nothing behind.
  }

  onGrant(): void {
    this.#state = 'holding'
  }

  onEnd(): void {
    this.#arrival?.over()
    if (this.#state === 'holding' || !(this.#entered || this.#open > 0)) this.#waiters?.remove(this)
    else {
      this.#state = 'leaving'
      this.#waiters?.ended(this)
      this.#context.work.background(() => this.#leave())
    }
  }

  async #leave(): Promise<void> {
    await leaveQueue(this.#context, this.#leaving(this.number, this.#tried), this.known)
    this.#waiters?.remove(this)
  }

  /**
   * Leaves again after a late try has entered the waiter, although it has its lease or has left. A leave gives back
   * what the try that it names took, so it names none if the lease is to stay.
   */
  #leaveAgain(): void {
    const acquisitionId = this.#state === 'holding' ? undefined : this.#tried
    this.#context.work.background(() => leaveOnce(this.#context, this.#leaving(this.number, acquisitionId), this.known))
  }

  #leaving(number: number, acquisitionId: string | undefined): LeaveRequest {
    return { key: this.plan.key, inbox: this.#inbox, number, acquisitionId }
  }

  /** The locker's context, as this acquire sees it. */
  #view(): Context {
    const { calls, store, notifier } = this.#context
    const acquire: Calls['acquire'] = (request, attempt) => this.#try(request, attempt)
    const release: Calls['release'] = (request, attempt) =>
      'acquisitionId' in request ? this.#undo(request.acquisitionId, attempt) : calls.release(request, attempt)
    const inspect: LeaseStore['inspect'] = (_, call) => this.#check(call)
    const waiter: ReleaseNotifier['waiter'] = (clock, plan) =>
      this.#waiters ? this : aloneWaiter(notifier, clock, plan)
    // An acquire asks its notifier only for a waiter.
    const paced = { waiter } as ReleaseNotifier
    return { ...this.#context, calls: { ...calls, acquire, release }, store: { ...store, inspect }, notifier: paced }
  }

  #try({ key, acquisitionId, ttlMs }: AcquireRequest, attempt: Attempt<AcquireOutcome>): void {
    const { kind, permits } = this.#wish
    if (this.#enters) this.#arrival?.over()
    const send = async (call: CallDeadline): Promise<AcquireOutcome> => {
      this.#tried = acquisitionId
      this.#seen = this.#told.signals
      this.#open++
      const waiter = this.#waiter()
      return this.#read(await this.#queues.port.acquire({ key, kind, permits, acquisitionId, ttlMs, waiter }, call))
    }
    this.#context.enter(key, send, attempt)
  }

  /**
   * Whether a try may enter the queue: not without a wait, and not before the inbox is open, because a turn would be
   * missed.
   */
  get #enters(): boolean {
    return this.plan.waitMs > 0 && (this.#waiters?.has(this) ?? true)
  }

  #waiter(): WaiterInQueue | undefined {
    if (!this.#enters) return undefined
    const { number, priorityClass } = this
    const aliveMs = placesOf(this.#context.notifier) ? unkeptAliveMs : httpAliveMs
    const lives = this.#waiters?.inbox.lives ?? { listens: false, aliveMs, windowMs: httpWindowMs }
    return { inbox: this.#inbox, number, priorityClass, ...lives }
  }

  #read(outcome: QueuedAcquireOutcome): AcquireOutcome {
    if (outcome.type !== 'unknown' || outcome.executed === 'no') this.#open--
    if (outcome.type === 'held') return { ...outcome, cursor: '-' }
    if (outcome.type !== 'queued') return outcome
    this.#entered = true
    if (this.#state !== 'waiting') this.#leaveAgain()
    // The keeper of its place knows it by this cursor.
    const cursor = `${this.#inbox}.${this.number}`
    return { type: 'held', expiresInMs: outcome.againInMs, cursor, holder: outcome.holder }
  }

  /** Gives back what a try was or may have been granted while the wait goes on, so it takes nobody out of the queue. */
  #undo(acquisitionId: string, attempt: Attempt<ReleaseOutcome>): void {
    // Leaving gives it back too.
    if (this.#state === 'leaving' && acquisitionId === this.#tried) attempt.settle(leftAnyway)
    else this.#context.leave(this.#leaving(nobody, acquisitionId), attempt)
  }

  /** Asks the store in place of a try while tries stay unanswered. It extends no entry that nobody may know of. */
  async #check(call: CallDeadline): Promise<InspectOutcome> {
    const { port } = this.#queues
    const waiter = this.#waiter()
    if (!waiter) return asState(await port.inspect(this.plan.key, call))
    const { inbox, aliveMs, number } = waiter
    const outcome = await only(port.look([{ key: this.plan.key, inbox, aliveMs, numbers: [number] }], call))
    return asState(outcome ?? silence)
  }
}

/**
 * A waiter that is alone keeps its place by its own tries, so it must try often, whatever its plan relies on. While
 * somebody else keeps its place, it relies on them.
 */
function aloneWaiter(notifier: ReleaseNotifier | undefined, clock: Clock, plan: WaitPlan): Waiter {
  const { strategy, recheckMs = notifier?.recheckMs ?? mostRecheckMs } = plan
  const keeper = placesOf(notifier)
  const often: WaitPlan = {
    ...plan,
    recheckMs: keeper ? plan.recheckMs : Math.min(recheckMs, mostRecheckMs),
    strategy: { delayMs: (tries, jitter) => Math.min(strategy.delayMs(tries, jitter), mostRecheckMs) },
  }
  return (keeper ?? notifier)?.waiter(clock, often) ?? pollingWaiter(clock, often)
}

const leftAnyway: ReleaseOutcome = { type: 'released', announced: true, subscribers: null }

/** Of the answer to a check, only that there is one counts. */
const asState = (outcome: QueueInspection | LookOutcome): InspectOutcome =>
  outcome.type === 'unknown' || outcome.type === 'refused' ? outcome : { type: 'state', state: { held: false } }
