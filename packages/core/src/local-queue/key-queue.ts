import { type Acquired, assertAnswered, type Knowledge, nothingKnown } from '../acquire/acquisition.ts'
import { undoAcquire } from '../acquire/claim.ts'
import type { Context } from '../context.ts'
import { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import { offers, type Passing } from '../store/pass-on.ts'
import { drawAcquisitionId } from '../store/token.ts'
import { jitter } from '../timing/backoff.ts'
import { elapsedMs, type Instant, instant, waitedMs } from '../timing/validity.ts'
import { patienceMs, restHintMs } from '../waiting/pacing.ts'
import { Competitor, type Contest, slackMs } from './competitor.ts'
import { briefFences, headStartMs, pollersHeadStartMs } from './figures.ts'
import { giveTo, HandOffs, suits } from './hand-offs.ts'
import { type CheckedCalls, HolderCheck } from './holder-check.ts'
import { type Caller, type WaitingCall, WaitingLine } from './waiting-line.ts'

const nobody: readonly Competitor[] = []

/**
 * The calls of this process for one key. "Ours" means: of this process.
 *
 * States:
 * - *held*: one of our calls has the grant, or is giving it back. All others stand in line.
 * - *head start*: a run of hand-offs has ended, and the key is left to other processes for a moment.
 * - *contested*: some of our calls compete for the key at the store. A call stands in line if a competitor stands in
 *   for it.
 * - *idle*: none of these, and no call in line.
 *
 * Transitions: a grant by the store makes the key *held*. On release the grant is either handed off to the next call in
 * line, and the key stays *held*; or it goes back to the store, and the calls in line *contest* the key, after a *head
 * start* if one is due. The answer to a release that reaches nobody may bring the next call in line a new grant: then
 * the key stays *held*, too, but for at most a second before it really goes back.
 */
export class KeyQueue implements CheckedCalls, Contest {
  readonly #context: Context
  readonly #key: string
  readonly #onIdle: () => void

  #grant: Grant | undefined
  /** The present run of hand-offs of the grant. */
  readonly #handOffs = new HandOffs()
  /** The event `wanted` has been emitted for the present holder. */
  #wanted = false
  #headStart: { readonly pauseMs: number; cancel(): void } | undefined
  /** Replaced, never mutated: a list that grows again from nothing makes room for many, and most keys have one at a time. */
  #competitors = nobody
  /** Made when the first call has to wait: for most keys none ever does. */
  line: WaitingLine | undefined
  /** Shared by all our calls. Otherwise each call in a long line would have to ask the store itself. */
  known: Knowledge = nothingKnown()
  readonly #check: HolderCheck

  /** @param onIdle called when the key becomes idle */
  constructor(context: Context, key: string, onIdle: () => void) {
    this.#context = context
    this.#key = key
    this.#onIdle = onIdle
    this.#check = new HolderCheck(context, this)
  }

  get grant(): Grant | undefined {
    return this.#grant
  }

  /** Acquires for a call that may wait. */
  acquire(plan: Plan, since: Instant): Promise<Acquired> {
    const caller = { plan, since, patienceMs: patienceMs(plan, this.#context.notifier) }
    // If its try brings no lease, the next call in line may try.
    return this.#grant || this.#covers(caller) ? this.#waitInLine(caller) : this.#addCompetitor(caller).run(since)
  }

  /**
   * The store has granted the key to one of our calls.
   *
   * @param fences   how many are reserved with the grant
   * @param passedAt when the lock was passed on; omitted if it was free before
   */
  hold(grant: Grant, fences: number, passedAt?: Instant): void {
    const former = this.#grant
    if (former && former.fence > grant.fence) {
      // This answer came late: our present holder's grant is newer, so this grant has ended already.
      grant.lose('superseded')
      return
    }
    this.#grant = grant
    this.#handOffs.begin(fences, passedAt)
    this.#wanted = false
    this.known.finding = 'held'
    this.#endHeadStart()
    this.#check.watch(grant)
    // The store has granted the key anew, so the former grant has ended.
    if (former) void this.#context.home(() => former.lose('gone'))
    this.#emitWanted()
  }

  /** Hands a grant off to the next waiter if possible. If not, returns false, and its holder now gives it back. */
  handOff(grant: Grant, now: Instant): boolean {
    if (this.#grant !== grant) return false
    const next = this.line?.first
    if (!next) {
      this.#check.releasing(now)
      return false
    }
    // Competitors came before the calls in line: one that stands in for the next call goes first.
    if (this.#handOffs.isOver(now) || this.#covers(next) || !suits(grant, next.plan, now)) {
      this.#check.releasing(now)
      this.#askToPassOn(grant, next, now)
      return false
    }
    this.#handOffs.add(now)
    this.#wanted = false
    giveTo(grant, next.plan, now)
    this.line?.leave(next)
    next.resolve({ grant, at: now, waitedMs: Math.round(elapsedMs(now, next.since)), commands: 0, lateGrants: 0 })
    this.#emitWanted()
    return true
  }

  /** Lets our release bring a grant for the next call in line, if the store can do so and the lock was free lately. */
  #askToPassOn(grant: Grant, { plan: { key, ttlMs } }: WaitingCall, now: Instant): void {
    const { store, notifier, name } = this.#context
    // Without a notifier nobody is known to listen, and competitors came before the calls in line.
    if (!notifier || this.#competitors.length > 0 || this.#handOffs.isLong(now)) return
    grant.passing = offers
      .get(store)
      ?.begin({ key, acquisitionId: drawAcquisitionId(name), ttlMs, fences: briefFences })
  }

  /** A grant is no longer ours. `subscribers` is how many were notified of its release, null if that is not known. */
  ended(grant: Grant, subscribers: number | null): void {
    const { passing } = grant
    grant.passing = undefined
    if (this.#grant !== grant) {
      if (passing?.isOpen) this.#undo(passing)
      // Our next waiter is competing already. Its last try may have found the entry that is now gone.
      if (!this.#grant) this.#resume()
      return
    }
    const { clock, notifier } = this.#context
    this.#grant = undefined
    // The store has answered our holder, so an earlier silence that a competitor met is no longer the last word.
    if (subscribers !== null) this.known.finding = 'held'
    this.#check.stop()
    if (passing?.isOpen) {
      this.#take(passing, instant(clock))
      return
    }
    const next = this.line?.first
    const reachedNobody = subscribers === 0
    // No release reaches a process that polls, and it had no chance while the lock was passed on.
    const isNobodyElse = notifier && reachedNobody && !this.#handOffs.hasPassed
    if (next && !isNobodyElse && this.#handOffs.isOver(instant(clock))) this.#beginHeadStart(next.plan, reachedNobody)
    else this.#resume()
  }

  /** Gives the next call in line the grant that a release brought. A call that it does not suit asks the store. */
  #take(passing: Passing, now: Instant): void {
    const { clock } = this.#context
    const { request, granted, sentAt } = passing
    const { key, acquisitionId, ttlMs } = request
    const first = this.line?.first
    if (first?.plan.ttlMs === ttlMs && granted) {
      const grant = new Grant(clock, key, granted.token, granted.fence, { sentAt, ttlMs })
      if (grant.remainingMs(now) >= first.plan.minValidityMs) {
        this.line?.leave(first)
        this.hold(grant, briefFences, now)
        first.resolve({ grant, at: now, waitedMs: Math.round(elapsedMs(now, first.since)), commands: 1, lateGrants: 0 })
        return
      }
    }
    const next = this.#uncovered()
    if (next) this.#enter(next, acquisitionId)
    else this.#undo(passing)
    this.#resume()
  }

  #undo({ request }: Passing): void {
    const { known } = this
    this.#context.work.background(() => undoAcquire(this.#context, request, known))
  }

  /** Ends every wait in line, because the locker is being closed. */
  close(reason: unknown): void {
    this.#endHeadStart()
    this.line?.end(reason)
    this.#check.stop()
  }

  /** @param reachedNobody whether the release reached no subscriber, so that the head start is only for pollers */
  #beginHeadStart(plan: Plan, reachedNobody: boolean): void {
    const { notifier, background } = this.#context
    const startMs = reachedNobody ? pollersHeadStartMs : headStartMs
    // Without a notifier, other processes poll and nobody can wake them. So our next waiter pauses as after a contended
    // try.
    const pauseMs = notifier ? startMs : restHintMs(plan, 1, jitter(), 0)
    const end = (): void => {
      this.#headStart = undefined
      this.#resume()
    }
    this.#endHeadStart()
    this.#headStart = { pauseMs, cancel: background.schedule(end, pauseMs, 'background') }
    this.#advance()
  }

  #endHeadStart(): void {
    this.#headStart?.cancel()
    this.#headStart = undefined
  }

  /**
   * Whether a call need not try the store itself: a competitor stands in for it, or a head start will end within its
   * patience.
   */
  #covers(caller: Caller): boolean {
    if (this.#headStart && this.#headStart.pauseMs <= caller.patienceMs) return true
    return this.#competitors.length > 0 && this.#competitors.some((each) => each.standsInFor(caller))
  }

  /** The lock may be free: pausing competitors try first, then the next call in line. */
  #resume(): void {
    // A notifier wakes each competitor itself.
    if (!this.#context.notifier) for (const each of this.#competitors) each.wake()
    this.#advance()
  }

  /** Turns the calls in line that nothing covers into competitors, unless we hold the key. */
  #advance(): void {
    for (let call = this.#uncovered(); call; call = this.#uncovered()) this.#enter(call)
    if (!this.isIdle) return
    // What calls have found does not help later ones. An acquire that is still being undone keeps using it.
    this.known = nothingKnown()
    this.#onIdle()
  }

  /** Whether nobody holds the key or wants it. */
  get isIdle(): boolean {
    return !this.#grant && !this.#headStart && !this.line?.size && this.#competitors.length === 0
  }

  /** Turns a call in line into a competitor. */
  #enter(call: WaitingCall, begun?: string): void {
    const { resolve } = call
    this.line?.leave(call)
    const added = this.#addCompetitor(call, true, begun)
    // In the locker's async context: another call's wait must not keep alive the call that happened to lead here.
    void this.#context.home(() => resolve(added.run()))
  }

  /**
   * The call in line that should try the store next, if any: the first that nothing covers. While a competitor is
   * failing, it is instead the uncovered call whose grant may come latest. That call then stands in for the rest;
   * otherwise each of many ttls would get a competitor of its own.
   */
  #uncovered(): WaitingCall | undefined {
    if (this.#grant || !this.line?.size) return undefined
    const now = instant(this.#context.clock)
    const isFailing = this.#competitors.some((each) => each.isFailing)
    let next: WaitingCall | undefined
    for (const call of this.line) {
      // A wait that is almost over is not worth a command.
      if (this.#covers(call) || call.plan.waitMs - elapsedMs(now, call.since) <= 1) continue
      if (!isFailing) return call
      if (!next || slackMs(call.plan) > slackMs(next.plan)) next = call
    }
    return next
  }

  #waitInLine(caller: Caller): Promise<Acquired> {
    this.line ??= new WaitingLine(this.#context.background, (call) => call.resolve(this.#inVain(call)))
    const line = this.line
    return new Promise((resolve, reject) => {
      line.add({ ...caller, resolve, reject })
      // Only once the call is in line: a listener may release the very lease that it waits for.
      this.#context.emit?.({ type: 'contended', key: this.#key })
      this.#emitWanted()
      this.#check.added(caller)
    })
  }

  /** The result of a wait in line whose time is over. */
  async #inVain({ since }: Caller): Promise<Acquired> {
    const { finding, lateGrants, holder } = this.known
    const heldHere = this.#grant !== undefined
    if (!heldHere) assertAnswered(finding, 'no')
    return {
      grant: undefined,
      waitedMs: waitedMs(this.#context.clock, since),
      commands: 0,
      lateGrants: !heldHere && finding === 'late' ? lateGrants : 0,
      holder: heldHere ? (this.#context.name ?? null) : holder,
      heldHere,
    }
  }

  /** @param fromLine whether the call stood in line before, so that its event `contended` has been emitted */
  #addCompetitor(caller: Caller, fromLine = false, begun?: string): Competitor {
    const added = new Competitor(this.#context, caller, this, !fromLine && this.isIdle, fromLine, begun)
    this.#competitors = this.#competitors === nobody ? [added] : [...this.#competitors, added]
    return added
  }

  /** A competitor has learned something but has no lease yet. */
  onFinding(): void {
    this.#advance()
  }

  /** A competitor's acquire has ended. */
  onEnd(competitor: Competitor): void {
    const isAlone = this.#competitors.length === 1
    this.#competitors = isAlone ? nobody : this.#competitors.filter((each) => each !== competitor)
    this.#advance()
  }

  #emitWanted(): void {
    if (!this.#grant || this.#wanted || !this.line?.size) return
    this.#wanted = true
    this.#context.emit?.({ type: 'wanted', key: this.#key, fence: this.#grant.fence })
  }
}
