import { type Acquired, acquisition } from './acquisition.ts'
import { unanswered } from './ask.ts'
import type { Context } from './context.ts'
import type { Grant } from './grant.ts'
import type { Plan } from './options.ts'
import { jitter } from './timing/backoff.ts'
import { elapsedMs, type Instant, instant } from './timing/validity.ts'
import { patienceMs, restMs } from './waiter.ts'
import { type WaitingCall, WaitingLine } from './waiting-line.ts'

/** How often a grant may pass from waiter to waiter of this process before others have a chance. */
const mostHandOffs = 16
/** And for how long, in milliseconds. */
const longestStretchMs = 1_000
/** Others who were told of a release get this head start on our next waiter, in milliseconds. */
const headStartMs = 2

/** Consecutive fences to reserve with a grant, so that each of its holders has one of its own. */
const fences: number = mostHandOffs + 1

/** A call that tries the store. */
interface Competitor {
  /** How long it may go without looking at the store, in milliseconds. */
  readonly patienceMs: number
  /** It has been told that the lock is held. */
  sawHolder: boolean
  /** It was granted the lock too late for what it asks, so it may well never get it. */
  late: boolean
}

/** The caller, while it waits or tries the store. */
type Caller = Pick<WaitingCall, 'plan' | 'since' | 'patienceMs' | 'sawHolder'>

/** One key, as far as this process is concerned. It is *held* by one of us, *competed* for by some of us, or neither. */
interface Contest {
  readonly key: string
  /** Made when somebody has to wait: most keys are held without that. */
  line: WaitingLine | undefined
  competitors: readonly Competitor[]
  grant: Grant | undefined
  /** Our holder has been told that others of us wait. */
  wanted: boolean
  /** How often what we hold has been handed off, and when that was first. */
  handOffs: number
  firstHandOff: Instant | undefined
}

/**
 * The waiters of one process, key by key.
 *
 * While this process holds a key, or one of its calls competes for it on the store, the others wait here, in order and
 * without any command. When a lease is given back and the next waiter is one of ours, the grant passes on without a round
 * trip, with the next of its reserved fences; bounds on that let other processes in.
 *
 * Nobody waits behind a call that looks at the store less often than itself would, nor behind one that a grant has reached
 * too late: what one call asks for must not hold up another.
 */
export interface LocalQueue {
  /** An acquire as `acquisition` does it, if need be after a wait in line. Without a wait the store is always asked. */
  acquire(plan: Plan): Promise<Acquired>
  /** Passes a grant on to the next waiter if it may be passed on; then it is that waiter's. */
  handOff(grant: Grant): boolean
  /** The grant is no longer ours. `listeners` is how many were told of its release, null if nobody knows. */
  ended(grant: Grant, listeners: number | null): void
  /** The grant by which this process holds a key now. */
  holding(key: string): Grant | undefined
}

export function localQueue(context: Context): LocalQueue {
  const { clock, notifier, work } = context
  const contests = new Map<string, Contest>()
  work.onClosing((reason) => {
    for (const { line } of contests.values()) line?.end(reason)
  })

  function contestFor(key: string): Contest {
    const contest: Contest = contests.get(key) ?? {
      key,
      line: undefined,
      competitors: [],
      grant: undefined,
      wanted: false,
      handOffs: 0,
      firstHandOff: undefined,
    }
    contests.set(key, contest)
    return contest
  }

  const waitedMs = ({ since }: Pick<Caller, 'since'>, now = instant(clock)): number => elapsedMs(now, since)

  /** Somebody tries the store in place of this call, too. */
  const isCovered = ({ competitors }: Contest, { patienceMs }: Pick<Caller, 'patienceMs'>): boolean =>
    competitors.some((each) => !each.late && each.patienceMs <= patienceMs)

  /** Lets those in line try the store for whom nobody does, unless one of us holds the key. */
  function advance(contest: Contest): void {
    const { key, line } = contest
    if (contest.grant) return
    for (const call of line ?? []) {
      if (isCovered(contest, call)) continue
      line?.leave(call)
      call.resolve(compete(contest, call, () => undefined))
    }
    if (!line?.size && contest.competitors.length === 0) contests.delete(key)
  }

  /** Counts a competitor in; what it returns counts it out, and lets the next one try. */
  function enter(contest: Contest, competitor: Competitor): () => void {
    contest.competitors = [...contest.competitors, competitor]
    return () => {
      contest.competitors = contest.competitors.filter((each) => each !== competitor)
      advance(contest)
    }
  }

  function timeUp(call: WaitingCall): void {
    if (call.sawHolder) call.resolve({ grant: undefined, waitedMs: waitedMs(call), commands: 0 })
    else call.reject(unanswered('acquire', { type: 'unknown', executed: 'no' }))
  }

  function stand(contest: Contest, { plan, since, patienceMs }: Omit<Caller, 'sawHolder'>): Promise<Acquired> {
    const { grant, competitors, key } = contest
    const sawHolder = grant !== undefined || competitors.some((competitor) => competitor.sawHolder)
    contest.line ??= new WaitingLine(clock, timeUp)
    const { line } = contest
    return new Promise((resolve, reject) => {
      line.join({ plan, since, patienceMs, sawHolder, resolve, reject })
      // Only now: whoever listens may end what it waits for.
      context.emit({ type: 'contended', key })
      tellHolder(contest)
    })
  }

  /** Tries the store, and lets the next one do so if nothing comes of it. */
  async function compete(contest: Contest, caller: Caller, contended: () => void): Promise<Acquired> {
    const { plan, patienceMs, sawHolder } = caller
    const competitor: Competitor = { patienceMs, sawHolder, late: false }
    const leave = enter(contest, competitor)
    const attempt = {
      leftMs: () => plan.waitMs - waitedMs(caller),
      fences,
      sawHolder,
      onHeld(): void {
        competitor.sawHolder = true
        contest.line?.seeHolder()
        contended()
      },
      onLate(): void {
        competitor.late = true
        advance(contest)
      },
    }
    try {
      const acquired = await work.wait(plan.signal, (signal) => acquisition(context, plan, signal, attempt))
      if (acquired.grant) hold(acquired.grant)
      return { ...acquired, waitedMs: waitedMs(caller) }
    } finally {
      leave()
    }
  }

  async function tryOnce(plan: Plan): Promise<Acquired> {
    const onHeld = (): void => context.emit({ type: 'contended', key: plan.key })
    const acquired = await work.wait(plan.signal, (signal) => acquisition(context, plan, signal, { fences, onHeld }))
    if (acquired.grant) hold(acquired.grant)
    return acquired
  }

  function hold(grant: Grant): void {
    const contest = contestFor(grant.key)
    contest.grant = grant
    contest.handOffs = 0
    contest.firstHandOff = undefined
    contest.wanted = false
    contest.line?.seeHolder()
    tellHolder(contest)
  }

  function tellHolder(contest: Contest): void {
    const { grant, key, line } = contest
    if (!grant || contest.wanted || !line?.size) return
    contest.wanted = true
    context.emit({ type: 'wanted', key, fence: grant.fence })
  }

  const stretchIsOver = ({ handOffs, firstHandOff }: Contest, now: Instant): boolean =>
    handOffs >= mostHandOffs || (firstHandOff !== undefined && elapsedMs(now, firstHandOff) >= longestStretchMs)

  return {
    acquire(plan) {
      work.assertOpen()
      plan.signal?.throwIfAborted()
      if (plan.waitMs === 0) return tryOnce(plan)
      const contest = contestFor(plan.key)
      const caller = { plan, since: instant(clock), patienceMs: patienceMs(plan, notifier) }
      if (contest.grant || isCovered(contest, caller)) return stand(contest, caller)
      const contended = (): void => context.emit({ type: 'contended', key: plan.key })
      return compete(contest, { ...caller, sawHolder: false }, contended)
    },

    handOff(grant) {
      const contest = contests.get(grant.key)
      const next = contest?.line?.first
      if (contest?.grant !== grant || !next?.plan.renew || grant.tokenLeft) return false
      const now = instant(clock)
      if (stretchIsOver(contest, now)) return false
      // Whoever competes came before those in line.
      if (isCovered(contest, next)) return false
      const { ttlMs, minValidityMs } = next.plan
      if (grant.remainingMs(now) < Math.max(ttlMs / 2, minValidityMs)) return false
      // Nor may a dead holder block others for much longer than the ttl it asked for.
      if (grant.expiresInMs(now) > 2 * ttlMs) return false
      contest.handOffs++
      contest.firstHandOff ??= now
      grant.passOn(ttlMs, now)
      contest.wanted = false
      contest.line?.leave(next)
      next.resolve({ grant, waitedMs: waitedMs(next, now), commands: 0 })
      tellHolder(contest)
      return true
    },

    holding: (key) => contests.get(key)?.grant,

    ended(grant, listeners) {
      const contest = contests.get(grant.key)
      if (contest?.grant !== grant) return
      contest.grant = undefined
      const next = contest.line?.first
      const nobodyElse = notifier !== undefined && listeners === 0
      if (!next || nobodyElse || !stretchIsOver(contest, instant(clock))) {
        advance(contest)
        return
      }
      // Keeps the place of the one of us who will try, while others go first. Those who poll cannot be told: without a
      // notifier our next one waits as long as it would after a refusal.
      const pauseMs = notifier ? headStartMs : restMs(next.plan, 1, jitter())
      clock.schedule(enter(contest, { patienceMs: 0, sawHolder: false, late: false }), pauseMs)
    },
  }
}
