import { type Acquired, assertAnswered, nothingKnown } from '../acquire/acquisition.ts'
import type { Context } from '../context.ts'
import type { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import { jitter } from '../timing/backoff.ts'
import { elapsedMs, instant, waitedMs } from '../timing/validity.ts'
import { patienceMs, restHintMs } from '../waiting/pacing.ts'
import { type Competitor, competitor, slackMs } from './competitor.ts'
import { headStartMs } from './figures.ts'
import { giveTo, HandOffs, suits } from './hand-offs.ts'
import { HolderCheck } from './holder-check.ts'
import { type Caller, type WaitingCall, WaitingLine } from './waiting-line.ts'

/**
 * One key, as this process sees it.
 *
 * States:
 * - *idle*: nobody here wants it.
 * - *contested*: some of our calls try the store, the *competitors*. Others stand in line while a competitor stands in for them.
 * - *held*: one of us has the grant, or is giving it back. All other calls stand in line.
 * - *head start*: after a run of hand-offs our line leaves the key to other processes for a moment.
 *
 * A grant from the store makes the key *held*. On release the grant is handed off to the next in line and the key stays *held*;
 * or it goes back to the store, and the line contests the key, if need be after a head start.
 */
export class KeyQueue {
  readonly #context: Context
  readonly #key: string
  readonly #onIdle: () => void

  #grant: Grant | undefined
  /** The run of hand-offs of what we hold. */
  #handOffs = new HandOffs()
  /** The holder has been told that calls of this process wait for it. */
  #wanted = false
  #headStart: { readonly pauseMs: number; cancel(): void } | undefined
  readonly #competitors = new Set<Competitor>()
  /** Made when somebody has to wait. Most keys never need it. */
  #line: WaitingLine | undefined
  /** What one call finds out, the next one heeds. Otherwise each call of a long line would ask in turn. */
  readonly #known = nothingKnown()
  readonly #check: HolderCheck

  /** @param onIdle called when nothing goes on here any more */
  constructor(context: Context, key: string, onIdle: () => void) {
    this.#context = context
    this.#key = key
    this.#onIdle = onIdle
    this.#check = new HolderCheck(
      context,
      this.#known,
      () => this.#line,
      (grant) => this.ended(grant, null),
    )
  }

  get grant(): Grant | undefined {
    return this.#grant
  }

  /** An acquire that may wait. */
  acquire(plan: Plan): Promise<Acquired> {
    const { clock, notifier } = this.#context
    const caller = { plan, since: instant(clock), patienceMs: patienceMs(plan, notifier) }
    return this.#grant || this.#covers(caller) ? this.#stand(caller) : this.#compete(this.#enter(caller))
  }

  /** One of us has it now, from the store. */
  hold(grant: Grant): void {
    const former = this.#grant
    if (former && former.fence > grant.fence) {
      // This answer is late: the present holder was granted the key after this grant had ended.
      grant.lose('superseded')
      return
    }
    this.#grant = grant
    this.#handOffs = new HandOffs()
    this.#wanted = false
    this.#known.finding = 'held'
    this.#endHeadStart()
    this.#check.watch(grant)
    // The former holder cannot have it any more.
    if (former) void this.#context.home(() => former.lose('gone'))
    this.#tellHolder()
  }

  /** Hands a grant off to the next waiter, if it may. Otherwise its holder gives it back to the store now. */
  handOff(grant: Grant): boolean {
    if (this.#grant !== grant) return false
    const now = instant(this.#context.clock)
    const next = this.#line?.first
    // A competitor came before those in line.
    if (!next || this.#handOffs.isOver(now) || this.#covers(next) || !suits(grant, next.plan, now)) {
      this.#check.releasing()
      return false
    }
    this.#handOffs.add(now)
    this.#wanted = false
    giveTo(grant, next.plan, now)
    this.#line?.leave(next)
    next.resolve({ grant, waitedMs: Math.round(elapsedMs(now, next.since)), commands: 0, lateGrants: 0 })
    this.#tellHolder()
    return true
  }

  /** A grant is no longer ours. `subscribers` is how many were told of its release, null if nobody knows. */
  ended(grant: Grant, subscribers: number | null): void {
    if (this.#grant !== grant) {
      // Our next waiter tries already, and its try may have met the very entry that is gone now.
      if (!this.#grant) this.#goOn()
      return
    }
    const { clock, notifier } = this.#context
    this.#grant = undefined
    this.#check.stop()
    const next = this.#line?.first
    const nobodyElse = notifier && subscribers === 0
    if (next && !nobodyElse && this.#handOffs.isOver(instant(clock))) this.#beginHeadStart(next.plan)
    else this.#goOn()
  }

  /** Ends every wait in line: the locker is being closed. */
  close(reason: unknown): void {
    this.#endHeadStart()
    this.#line?.end(reason)
    this.#check.stop()
  }

  #beginHeadStart(plan: Plan): void {
    const { notifier, background } = this.#context
    // Nobody can wake pollers. So without a notifier the next call waits as long as it would after a contended try.
    const pauseMs = notifier ? headStartMs : restHintMs(plan, 1, jitter(), 0)
    const end = (): void => {
      this.#headStart = undefined
      this.#goOn()
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
   * Whether this call need not try the store itself, because a competitor stands in for it or a head start ends before its
   * patience does.
   */
  #covers(caller: Caller): boolean {
    if (this.#headStart && this.#headStart.pauseMs <= caller.patienceMs) return true
    for (const each of this.#competitors) if (each.standsInFor(caller)) return true
    return false
  }

  /** The lock may be free. Competitors that pause try first, then the next in line. */
  #goOn(): void {
    // With a notifier, that wakes each of them.
    if (!this.#context.notifier) for (const each of this.#competitors) each.wake()
    this.#advance()
  }

  /** Lets every call in line compete that no competitor stands in for, unless this process holds the key. */
  #advance(): void {
    for (let call = this.#uncovered(); call; call = this.#uncovered()) {
      const { resolve } = call
      this.#line?.leave(call)
      const entered = this.#enter(call, true)
      // It must not run in, and so keep alive, the async context of the call that gave rise to it.
      void this.#context.home(() => resolve(this.#compete(entered)))
    }
    if (!this.#grant && !this.#headStart && !this.#line?.size && this.#competitors.size === 0) this.#onIdle()
  }

  /**
   * The call in line that should compete next, if any: the first that no competitor stands in for. While a competitor fails, it is
   * the call with the most time for a late grant, which then stands in for all. Otherwise each of many ttls would get a competitor
   * of its own.
   */
  #uncovered(): WaitingCall | undefined {
    if (this.#grant) return undefined
    const now = instant(this.#context.clock)
    const isFailing = [...this.#competitors].some((each) => each.isFailing())
    let next: WaitingCall | undefined
    for (const call of this.#line ?? []) {
      // A wait that is as good as over is not worth a command.
      if (this.#covers(call) || call.plan.waitMs - elapsedMs(now, call.since) <= 1) continue
      if (!isFailing) return call
      if (!next || slackMs(call.plan) > slackMs(next.plan)) next = call
    }
    return next
  }

  #stand(caller: Caller): Promise<Acquired> {
    this.#line ??= new WaitingLine(this.#context.background, (call) => call.resolve(this.#inVain(call)))
    const line = this.#line
    return new Promise((resolve, reject) => {
      line.startWait({ ...caller, resolve, reject })
      // Only now: a listener may end what this call waits for.
      this.#context.emit({ type: 'contended', key: this.#key })
      this.#tellHolder()
      this.#check.waitStarted(caller)
    })
  }

  /** How a wait in line ends when its time is over. */
  async #inVain({ since }: Caller): Promise<Acquired> {
    const { finding, lateGrants } = this.#known
    const heldHere = this.#grant !== undefined
    if (!heldHere) assertAnswered(finding, 'no')
    return {
      grant: undefined,
      waitedMs: waitedMs(this.#context.clock, since),
      commands: 0,
      lateGrants: !heldHere && finding === 'late' ? lateGrants : 0,
      heldHere,
    }
  }

  /** @param fromLine whether this call stood in line before, and so has been told that the lock is held */
  #enter(caller: Caller, fromLine = false): Competitor {
    const entered = competitor(this.#context, caller, this.#known, fromLine, () => this.#advance())
    this.#competitors.add(entered)
    return entered
  }

  /** Tries the store, and lets the next one do so if nothing comes of it. */
  async #compete(entered: Competitor): Promise<Acquired> {
    try {
      const acquired = await entered.run()
      if (acquired.grant) this.hold(acquired.grant)
      return { ...acquired, heldHere: !acquired.grant && this.#grant !== undefined }
    } finally {
      this.#competitors.delete(entered)
      this.#advance()
    }
  }

  #tellHolder(): void {
    if (!this.#grant || this.#wanted || !this.#line?.size) return
    this.#wanted = true
    this.#context.emit({ type: 'wanted', key: this.#key, fence: this.#grant.fence })
  }
}
