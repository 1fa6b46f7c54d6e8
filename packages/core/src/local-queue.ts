import { type Acquired, acquisition } from './acquisition.ts'
import { unanswered } from './ask.ts'
import { type Competitor, Contest, mostHandOffs } from './contest.ts'
import type { Context } from './context.ts'
import type { Grant } from './grant.ts'
import type { Plan } from './options.ts'
import { SignalCount } from './signal-count.ts'
import { jitter } from './timing/backoff.ts'
import { elapsedMs, type Instant, instant } from './timing/validity.ts'
import { patienceMs, restHintMs } from './waiter.ts'
import { type WaitingCall, WaitingLine } from './waiting-line.ts'

/** Others who were told of a release get this head start on our next waiter, in milliseconds. */
const headStartMs = 2

/** Consecutive fences to reserve with a grant, so that each of its holders has one of its own. */
const fences: number = mostHandOffs + 1

/** A call, while it waits or tries the store. */
type Caller = Pick<WaitingCall, 'plan' | 'since' | 'patienceMs' | 'sawHolder'>

/**
 * The waiters of one process, key by key.
 *
 * While this process holds a key, or one of its calls competes for it on the store, the others wait here, in order and
 * without any command. When a lease is given back and the next waiter is one of ours, the grant passes on without a round
 * trip, with the next of its reserved fences; bounds on that let other processes in.
 *
 * What one call asks for must not hold up another: nobody waits behind one that looks at the store far less often than
 * itself would, nor behind one that grants reach too late. Who competes with a slow strategy of its own is passed over by a
 * stretch of hand-offs, and told when that ends.
 */
export interface LocalQueue {
  /** An acquire as `acquisition` does it, if need be after a wait in line. Without a wait the store is always asked. */
  acquire(plan: Plan): Promise<Acquired>
  /** Passes a grant on to the next waiter if it may be passed on; then it is that waiter's. */
  handOff(grant: Grant): boolean
  /** The grant is no longer ours. `subscribers` is how many were told of its release, null if nobody knows. */
  ended(grant: Grant, subscribers: number | null): void
  /** The grant by which this process holds a key now. */
  holding(key: string): Grant | undefined
}

export function localQueue(context: Context): LocalQueue {
  const { clock, notifier, work } = context
  const contests = new Map<string, Contest>()
  work.onClosing((reason) => {
    for (const { headStart, line } of contests.values()) {
      headStart?.cancel()
      line?.end(reason)
    }
  })

  function contestFor(key: string): Contest {
    const contest = contests.get(key) ?? new Contest(key)
    contests.set(key, contest)
    return contest
  }

  const waitedMs = ({ since }: Pick<Caller, 'since'>, now: Instant = instant(clock)): number => elapsedMs(now, since)

  /** Lets those in line try the store for whom nobody does, unless one of us holds the key. */
  function advance(contest: Contest): void {
    const { key, line } = contest
    if (!contest.grant) {
      for (const call of line ?? []) {
        if (contest.covers(call)) continue
        line?.leave(call)
        call.resolve(compete(contest, call))
      }
    }
    if (contest.isOver) contests.delete(key)
  }

  /** The lock may be free: who competes and pauses looks first, then who is next in line. */
  function goOn(contest: Contest): void {
    for (const competitor of contest.competitors) {
      competitor.nudged = !notifier
      competitor.nudges.add()
    }
    advance(contest)
  }

  function timeUp(call: WaitingCall): void {
    if (call.sawHolder) call.resolve({ grant: undefined, waitedMs: waitedMs(call), commands: 0 })
    else call.reject(unanswered('acquire', { type: 'unknown', executed: 'no' }))
  }

  function stand(contest: Contest, { plan, since, patienceMs }: Omit<Caller, 'sawHolder'>): Promise<Acquired> {
    contest.line ??= new WaitingLine(clock, timeUp)
    const { line, key, sawHolder } = contest
    return new Promise((resolve, reject) => {
      line.join({ plan, since, patienceMs, sawHolder, resolve, reject })
      // Only now: whoever listens may end what it waits for.
      context.emit({ type: 'contended', key })
      tellHolder(contest)
    })
  }

  /** Tries the store, and lets the next one do so if nothing comes of it. */
  async function compete(contest: Contest, caller: Caller, onFirstRefusal?: () => void): Promise<Acquired> {
    const { plan, patienceMs, sawHolder } = caller
    const nudges = new SignalCount()
    const competitor: Competitor = { plan, patienceMs, sawHolder, late: false, nudges, nudged: false }
    contest.add(competitor)
    const attempt = {
      leftMs: () => plan.waitMs - waitedMs(caller),
      fences,
      sawHolder,
      nudges,
      onHeld(): void {
        competitor.sawHolder = true
        contest.line?.seeHolder()
        onFirstRefusal?.()
      },
      onRefused(): void {
        competitor.nudged = false
        advance(contest)
      },
      onLate(): void {
        competitor.late = true
        competitor.nudged = false
        advance(contest)
      },
    }
    try {
      const acquired = await work.wait(plan.signal, (signal) => acquisition(context, plan, signal, attempt))
      if (acquired.grant) hold(acquired.grant)
      return { ...acquired, waitedMs: waitedMs(caller) }
    } finally {
      contest.remove(competitor)
      advance(contest)
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
    contest.hold(grant)
    contest.line?.seeHolder()
    tellHolder(contest)
  }

  function tellHolder(contest: Contest): void {
    const { grant, key, line } = contest
    if (!grant || contest.wanted || !line?.size) return
    contest.wanted = true
    context.emit({ type: 'wanted', key, fence: grant.fence })
  }

  function endHeadStart(contest: Contest): void {
    contest.headStart = undefined
    goOn(contest)
  }

  return {
    acquire(plan) {
      work.assertOpen()
      plan.signal?.throwIfAborted()
      if (plan.waitMs === 0) return tryOnce(plan)
      const caller = { plan, since: instant(clock), patienceMs: patienceMs(plan, notifier) }
      const contest = contestFor(plan.key)
      if (contest.grant || contest.covers(caller)) return stand(contest, caller)
      // Who stands in line tells of it at once.
      const contended = (): void => context.emit({ type: 'contended', key: plan.key })
      return compete(contest, { ...caller, sawHolder: contest.sawHolder }, contended)
    },

    handOff(grant) {
      const contest = contests.get(grant.key)
      const next = contest?.line?.first
      if (contest?.grant !== grant || !next?.plan.renew || grant.tokenLeft) return false
      const now = instant(clock)
      if (contest.isStretchOver(now)) return false
      // Whoever competes came before those in line.
      if (contest.covers(next)) return false
      const { ttlMs, minValidityMs } = next.plan
      if (grant.remainingMs(now) < Math.max(ttlMs / 2, minValidityMs)) return false
      // Nor may a dead holder block others for much longer than the ttl it asked for.
      if (grant.expiresInMs(now) > 2 * ttlMs) return false
      contest.handOff(now)
      grant.passOn(ttlMs, now)
      contest.line?.leave(next)
      next.resolve({ grant, waitedMs: waitedMs(next, now), commands: 0 })
      tellHolder(contest)
      return true
    },

    holding: (key) => contests.get(key)?.grant,

    ended(grant, subscribers) {
      const contest = contests.get(grant.key)
      if (contest?.grant !== grant) return
      contest.grant = undefined
      const next = contest.line?.first
      const nobodyElse = notifier !== undefined && subscribers === 0
      if (!next || nobodyElse || !contest.isStretchOver(instant(clock))) return goOn(contest)
      // Those who poll cannot be told: without a notifier our next one waits as long as it would after a refusal.
      const pauseMs = notifier ? headStartMs : restHintMs(next.plan, 1, jitter(), 0)
      const cancel = clock.schedule(() => endHeadStart(contest), pauseMs, 'background')
      contest.headStart = { pauseMs, cancel }
      advance(contest)
    },
  }
}
