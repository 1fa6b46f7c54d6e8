import { type Acquired, type Acquisition, acquisition, nothingKnown } from '../acquire/acquisition.ts'
import type { Context } from '../context.ts'
import type { Grant } from '../lease/grant.ts'
import type { Plan } from '../options.ts'
import { failed, unanswered } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { InspectOutcome } from '../store/lease-store.ts'
import { parseToken } from '../store/token.ts'
import { jitter } from '../timing/backoff.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'
import { patienceMs, recheckMs, restHintMs } from '../waiting/pacing.ts'
import { alike, fences, headStartMs, longestRunMs, mostHandOffs, releaseShare, unaidedCheckMs } from './figures.ts'
import { type Caller, type WaitingCall, WaitingLine } from './waiting-line.ts'

/** A call that tries the store. */
interface Competitor extends Caller {
  readonly attempt: Acquisition
  /** It was not granted the lock in time, or not answered, so it may well never get it. */
  failing: boolean
  /** It was told that the lock may be free, and has had no answer of the store since: it goes first. */
  woken: boolean
}

/**
 * One key, as far as this process is concerned. It is *held* by one of us (who may be giving it back at this moment),
 * *competed* for by some of us, left to others for the time of a *head start*, or none of these; and others of us may wait
 * in line.
 */
export class KeyQueue {
  readonly #context: Context
  readonly #key: string
  readonly #onIdle: () => void

  #grant: Grant | undefined
  /** Our holder gives it back, and the store has not answered yet: since when, in monotonic milliseconds. */
  #releasingSinceMs: number | undefined
  readonly #competitors = new Set<Competitor>()
  /** Made when somebody has to wait: most keys are held without that. */
  #line: WaitingLine | undefined
  /** After a run of hand-offs nobody of us tries for a while, so that others come first. */
  #headStart: { readonly pauseMs: number; cancel(): void } | undefined
  /** The timer under those who wait behind our own holder. */
  #watch: { readonly releasing: boolean; readonly atMs: number; cancel(): void } | undefined
  /** What one of us has come to know, the next one heeds: or each of a long line would ask in its turn. */
  readonly #known = nothingKnown()
  /** Our holder has been told that others of us wait. */
  #wanted = false
  /** How often what we hold has been handed off, and when that was first. */
  #handOffs = 0
  #firstHandOff: Instant | undefined

  /** @param onIdle called when nothing goes on here any more */
  constructor(context: Context, key: string, onIdle: () => void) {
    this.#context = context
    this.#key = key
    this.#onIdle = onIdle
  }

  get grant(): Grant | undefined {
    return this.#grant
  }

  /** An acquire that may wait. */
  acquire(plan: Plan): Promise<Acquired> {
    const { clock, notifier } = this.#context
    const caller = { plan, since: instant(clock), patienceMs: patienceMs(plan, notifier) }
    if (this.#grant || this.#covers(caller)) return this.#stand(caller)
    return this.#compete(this.#competitor(caller))
  }

  /** One of us has it now, from the store. */
  hold(grant: Grant): void {
    const former = this.#grant
    if (former && former.fence > grant.fence) {
      // Its answer is late: whoever of us has the key was granted it after this one had ended.
      grant.lose('superseded')
      return
    }
    this.#grant = grant
    this.#releasingSinceMs = undefined
    this.#wanted = false
    this.#handOffs = 0
    this.#firstHandOff = undefined
    this.#known.finding = 'held'
    this.#endHeadStart()
    this.#stopWatch()
    // Whoever of us had it cannot have it any more.
    if (former) void this.#context.home(() => former.lose('gone'))
    this.#tellHolder()
    this.#armWatch(this.#untilCheckMs(grant))
  }

  /** Gives a grant to the next waiter, if it may. Otherwise its holder gives it back to the store now. */
  handOff(grant: Grant): boolean {
    const handedOff = this.#handOff(grant)
    if (!handedOff) this.#releasing(grant)
    return handedOff
  }

  #handOff(grant: Grant): boolean {
    const next = this.#line?.first
    if (this.#grant !== grant || !next?.plan.renew || grant.tokenLeft) return false
    const now = instant(this.#context.clock)
    if (this.#isRunOver(now)) return false
    // Whoever competes came before those in line.
    if (this.#covers(next)) return false
    const { ttlMs, minValidityMs } = next.plan
    if (grant.remainingMs(now) < Math.max(ttlMs / 2, minValidityMs)) return false
    // Nor may a dead holder block others for much longer than the ttl it asked for.
    if (grant.expiresInMs(now) > 2 * ttlMs) return false
    this.#wanted = false
    this.#handOffs++
    this.#firstHandOff ??= now
    passOn(grant, ttlMs, now)
    this.#line?.leave(next)
    next.resolve({ grant, waitedMs: elapsedMs(now, next.since), commands: 0, lateGrants: 0 })
    this.#tellHolder()
    return true
  }

  /** A grant is being given back to the store. If that takes long, our next waiter does not wait for the answer. */
  #releasing(grant: Grant): void {
    if (this.#grant !== grant) return
    this.#releasingSinceMs = this.#context.clock.monotonicMs()
    this.#armWatch(0)
  }

  /** A grant is no longer ours. `subscribers` is how many were told of its release, null if nobody knows. */
  ended(grant: Grant, subscribers: number | null): void {
    if (this.#grant !== grant) {
      // Our next waiter tries already, and may have been refused by the very entry that is gone now.
      if (!this.#grant) this.#goOn()
      return
    }
    const { clock, notifier, background } = this.#context
    this.#grant = undefined
    this.#releasingSinceMs = undefined
    this.#stopWatch()
    const next = this.#line?.first
    const nobodyElse = notifier !== undefined && subscribers === 0
    if (!next || nobodyElse || !this.#isRunOver(instant(clock))) {
      this.#goOn()
      return
    }
    // Those who poll cannot be told: without a notifier our next one waits as long as it would after a contention.
    const pauseMs = notifier ? headStartMs : restHintMs(next.plan, 1, jitter(), 0)
    this.#endHeadStart()
    const end = (): void => {
      this.#headStart = undefined
      this.#goOn()
    }
    this.#headStart = { pauseMs, cancel: background.schedule(end, pauseMs, 'background') }
    this.#advance()
  }

  /** Ends every wait in line: the locker is being closed. */
  close(reason: unknown): void {
    this.#endHeadStart()
    this.#line?.end(reason)
    this.#stopWatch()
  }

  #endHeadStart(): void {
    this.#headStart?.cancel()
    this.#headStart = undefined
  }

  /** It has been handed off as often, or for as long, as it may be before others have a chance. */
  #isRunOver(now: Instant): boolean {
    if (this.#handOffs >= mostHandOffs) return true
    return this.#firstHandOff !== undefined && elapsedMs(now, this.#firstHandOff) >= longestRunMs
  }

  /**
   * Whether somebody does for this call what it would do for itself, so that it need not try the store: a competitor that
   * checks about as often, and is not known to fail where this one would not; or a head start shorter than its patience.
   */
  #covers(caller: Caller): boolean {
    if (this.#headStart && this.#headStart.pauseMs <= caller.patienceMs) return true
    for (const competitor of this.#competitors) if (standsIn(competitor, caller)) return true
    return false
  }

  /** The lock may be free: who competes and pauses tries first, then who is next in line. */
  #goOn(): void {
    for (const competitor of this.#competitors) {
      // With a notifier each is told by that.
      competitor.woken = !this.#context.notifier
      if (competitor.woken) competitor.attempt.wake()
    }
    this.#advance()
  }

  /** Lets those in line try the store for whom nobody does, unless one of us holds the key. */
  #advance(): void {
    for (let call = this.#uncovered(); call; call = this.#uncovered()) {
      const { resolve } = call
      this.#line?.leave(call)
      const competitor = this.#competitor(call, true)
      // Whoever gave rise to it must not be kept alive by it: it belongs in nobody's async context.
      void this.#context.home(() => resolve(this.#compete(competitor)))
    }
    if (!this.#grant && !this.#headStart && !this.#line?.size && this.#competitors.size === 0) this.#onIdle()
  }

  /**
   * Who in line should try the store next, if anybody: the first for whom nobody does. Where one of us fails, the one with the
   * most time for a late grant, who then stands in for all: or each of many ttls would have a competitor of its own.
   */
  #uncovered(): WaitingCall | undefined {
    if (this.#grant) return undefined
    const now = instant(this.#context.clock)
    const isFailing = [...this.#competitors].some(({ failing }) => failing)
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
    this.#line ??= new WaitingLine(this.#context.background, (call) => this.#timeUp(call))
    const line = this.#line
    return new Promise((resolve, reject) => {
      line.join({ ...caller, resolve, reject })
      // Only now: whoever listens may end what it waits for.
      this.#context.emit({ type: 'contended', key: this.#key })
      this.#tellHolder()
      this.#armWatch(this.#checkEveryMs([caller]))
    })
  }

  #timeUp(call: WaitingCall): void {
    const { finding, lateGrants } = this.#known
    if (this.#grant || typeof finding === 'string') {
      const waitedMs = elapsedMs(instant(this.#context.clock), call.since)
      const late = !this.#grant && finding === 'late'
      call.resolve({ grant: undefined, waitedMs, commands: 0, lateGrants: late ? lateGrants : 0 })
    } else {
      call.reject(unanswered('acquire', { type: 'unknown', ...finding, executed: 'no' }))
    }
  }

  /** @param toldContended whether this call has been told already that the lock is held, because it stood in line */
  #competitor({ plan, since, patienceMs }: Caller, toldContended = false): Competitor {
    const attempt = acquisition(this.#context, plan, {
      since,
      fences,
      known: this.#known,
      toldContended,
      onFinding: (finding) => {
        competitor.woken = false
        if (finding !== 'held') competitor.failing = true
        this.#advance()
      },
    })
    const competitor: Competitor = { plan, since, patienceMs, attempt, failing: false, woken: false }
    this.#competitors.add(competitor)
    return competitor
  }

  /** Tries the store, and lets the next one do so if nothing comes of it. */
  async #compete(competitor: Competitor): Promise<Acquired> {
    const { attempt, plan } = competitor
    try {
      const acquired = await this.#context.work.wait(plan.signal, (signal) => attempt.run(signal))
      if (acquired.grant) this.hold(acquired.grant)
      return acquired
    } finally {
      this.#competitors.delete(competitor)
      this.#advance()
    }
  }

  #tellHolder(): void {
    if (!this.#grant || this.#wanted || !this.#line?.size) return
    this.#wanted = true
    this.#context.emit({ type: 'wanted', key: this.#key, fence: this.#grant.fence })
  }

  /**
   * Those who wait behind our own holder hear nothing of the store, so now and then somebody has to check whether the lock
   * was revoked elsewhere. Nor do they wait for long for the answer to its release.
   *
   * @param delayMs when to check of the latest, from now
   */
  #armWatch(delayMs: number): void {
    const { store, clock, background } = this.#context
    const grant = this.#grant
    if (!grant || !this.#line?.size) return
    const nowMs = clock.monotonicMs()
    const sinceMs = this.#releasingSinceMs
    const releasing = sinceMs !== undefined
    const atMs = releasing
      ? Math.max(nowMs, sinceMs + store.commandDeadlineMs * releaseShare)
      : nowMs + Math.ceil(delayMs)
    if (this.#watch?.releasing === releasing && this.#watch.atMs <= atMs) return
    this.#stopWatch()
    const onTimer = (): void => {
      this.#watch = undefined
      if (releasing) this.ended(grant, null)
      else void this.#check(grant)
    }
    this.#watch = { releasing, atMs, cancel: background.schedule(onTimer, atMs - nowMs, 'background') }
  }

  #stopWatch(): void {
    this.#watch?.cancel()
    this.#watch = undefined
  }

  /** How often one of these calls relies on a check, in milliseconds. */
  #checkEveryMs(calls: Iterable<Pick<Caller, 'plan'>> = this.#line ?? []): number {
    const { notifier } = this.#context
    if (!notifier) return unaidedCheckMs
    let leastMs = Infinity
    for (const { plan } of calls) leastMs = Math.min(leastMs, recheckMs(plan, notifier))
    return leastMs
  }

  /** Until what the store has last said of our grant is as old as they rely on it, in milliseconds. */
  #untilCheckMs(grant: Grant): number {
    return Math.max(0, this.#checkEveryMs() - grant.sinceAnswerMs())
  }

  /** Asks the store whether it still knows of our grant, unless it has said so lately. */
  async #check(grant: Grant): Promise<void> {
    const untilDueMs = this.#untilCheckMs(grant)
    if (untilDueMs > 0) {
      this.#armWatch(untilDueMs)
      return
    }
    const { store } = this.#context
    const inspect = (call: CallDeadline): Promise<InspectOutcome> => store.inspect(this.#key, call)
    // Nobody waits for this: what a store may reject with would be nobody's to catch, and would end the checks.
    const options = { once: true, quiet: this.#known }
    const { outcome } = await ask(this.#context, grant.ttlMs, inspect, options).catch(failed(this.#context))
    if (outcome.type === 'state') {
      const { state } = outcome
      // The fence that the store knows is that of the first holder.
      const fence = parseToken(grant.token)?.fence
      if (!state.held) grant.lose('gone')
      else if (fence !== undefined && state.fence !== fence) grant.lose('superseded')
    }
    if (this.#grant === grant) this.#armWatch(this.#checkEveryMs())
  }
}

/** Gives a grant to another holder of this process, with the next fence; whoever that is sets `holder` anew. */
function passOn(grant: Grant, ttlMs: number, now: Instant): void {
  grant.heldSince = now
  grant.ttlMs = ttlMs
  grant.holder = undefined
  grant.holdUntilMs = Infinity
  grant.longHeldAtMs = Infinity
  grant.fence++
}

const standsIn = (competitor: Competitor, { plan, patienceMs }: Caller): boolean =>
  competitor.woken ||
  (competitor.patienceMs <= alike * patienceMs && !(competitor.failing && slackMs(plan) > slackMs(competitor.plan)))

/** How late a grant may come, in milliseconds. */
const slackMs = ({ ttlMs, minValidityMs }: Plan): number => ttlMs - minValidityMs
