import { type Acquired, acquisition } from './acquisition.ts'
import { unanswered } from './ask.ts'
import type { Context } from './context.ts'
import type { Grant } from './grant.ts'
import type { Plan } from './options.ts'
import { jitter } from './timing/backoff.ts'
import { deadline, sleep } from './timing/deadline.ts'
import { elapsedMs, type Instant, instant } from './timing/validity.ts'

/** How often a grant may pass from waiter to waiter of this process before others have a chance. */
const mostHandOffs = 16
/** And for how long, in milliseconds. */
const longestStretchMs = 1_000
/** Others who were told of a release get this head start on our next waiter, in milliseconds. */
const headStartMs = 2

/** Consecutive fences to reserve with a grant, so that each of its holders has one of its own. */
const fences: number = mostHandOffs + 1

/** What a waiter in line gets: the grant of the one before it, or its turn to try the store. */
type Turn = { readonly grant: Grant } | 'compete'

interface Waiter {
  readonly plan: Plan
  turn: Turn | undefined
  /** Somebody was seen to hold the lock by this waiter, or by the one it waits behind. */
  sawHolder: boolean
  /** Ends its sleep. */
  wake(): void
}

/** One key, as far as this process is concerned. It is *held* by one of us, *competed* for by one of us, or neither. */
interface Line {
  grant: Grant | undefined
  competing: boolean
  /** Who competes has been told that the lock is held. */
  sawHolder: boolean
  /** Our holder has been told that others of us wait. */
  wanted: boolean
  /** How often what we hold has been handed over, and when that was first. */
  handOffs: number
  firstHandOff: Instant
  /** In order of arrival. */
  readonly waiters: Set<Waiter>
}

/**
 * The waiters of one process, key by key.
 *
 * While this process holds a key, or one of its calls competes for it on the store, the others wait here, in order and
 * without any command. When a lease is given back and the next waiter is one of ours, the grant passes on without a round
 * trip, with the next of its reserved fences; bounds on that let other processes in.
 */
export interface LocalQueue {
  /** An acquire as `acquisition` does it, if need be after a wait in line. Without a wait the store is always asked. */
  acquire(plan: Plan, signal: AbortSignal): Promise<Acquired>
  /** Passes a grant on to the next waiter if it may be passed on; then it is that waiter's. */
  handOver(grant: Grant): boolean
  /** The grant is no longer ours. `listeners` is how many were told of its release, null if nobody knows. */
  ended(grant: Grant, listeners: number | null): void
  /** The grant by which this process holds a key now. */
  holding(key: string): Grant | undefined
}

export function localQueue(context: Context): LocalQueue {
  const { clock, notifier } = context
  const lines = new Map<string, Line>()

  function lineOf(key: string): Line {
    const line: Line = lines.get(key) ?? {
      grant: undefined,
      competing: false,
      sawHolder: false,
      wanted: false,
      handOffs: 0,
      firstHandOff: instant(clock),
      waiters: new Set(),
    }
    lines.set(key, line)
    return line
  }

  function give(line: Line, waiter: Waiter, turn: Turn): void {
    line.waiters.delete(waiter)
    line.competing ||= turn === 'compete'
    waiter.turn = turn
    waiter.wake()
  }

  /** Lets the next waiter try the store, unless one of us holds the key or tries already. */
  function advance(key: string, line: Line): void {
    if (line.grant || line.competing) return
    const [next] = line.waiters
    if (next) give(line, next, 'compete')
    else lines.delete(key)
  }

  function seeHolder(line: Line): void {
    line.sawHolder = true
    for (const waiter of line.waiters) waiter.sawHolder = true
  }

  async function waitInLine(line: Line, plan: Plan, leftMs: () => number, signal: AbortSignal): Promise<Waiter> {
    const sawHolder = line.sawHolder || line.grant !== undefined
    const waiter: Waiter = { plan, turn: undefined, sawHolder, wake: () => undefined }
    await sleep(clock, leftMs(), signal, (wake) => {
      waiter.wake = wake
      line.waiters.add(waiter)
      // Only now: whoever listens may end what it waits for.
      context.emit({ type: 'contended', key: plan.key })
      tellHolder(line)
      // At once, however the wait ends: who has given up must not be given anything.
      return () => line.waiters.delete(waiter)
    })
    return waiter
  }

  /** Tries the store as the one of us who does, and lets the next one do so if nothing comes of it. */
  async function compete(
    plan: Plan,
    leftMs: () => number,
    signal: AbortSignal,
    contended: () => void,
    sawHolder = false,
  ): Promise<Acquired> {
    const line = lineOf(plan.key)
    line.competing = true
    line.sawHolder = sawHolder
    const onHeld = (): void => {
      seeHolder(line)
      contended()
    }
    try {
      const acquired = await acquisition(context, plan, signal, { leftMs, fences, sawHolder, onHeld })
      if (acquired.grant) hold(acquired.grant)
      return acquired
    } finally {
      line.competing = false
      advance(plan.key, line)
    }
  }

  function hold(grant: Grant): void {
    const line = lineOf(grant.key)
    line.grant = grant
    line.handOffs = 0
    line.wanted = false
    seeHolder(line)
    tellHolder(line)
  }

  function tellHolder(line: Line): void {
    if (!line.grant || line.wanted || line.waiters.size === 0) return
    line.wanted = true
    context.emit({ type: 'wanted', key: line.grant.key, fence: line.grant.fence })
  }

  const stretchIsOver = (line: Line): boolean =>
    line.handOffs >= mostHandOffs || (line.handOffs > 0 && elapsedMs(clock, line.firstHandOff) >= longestStretchMs)

  return {
    async acquire(plan, signal) {
      const contended = (): void => context.emit({ type: 'contended', key: plan.key })
      if (plan.waitMs === 0) {
        const acquired = await acquisition(context, plan, signal, { fences, onHeld: contended })
        if (acquired.grant) hold(acquired.grant)
        return acquired
      }

      const startedAt = instant(clock)
      const waitedMs = (): number => elapsedMs(clock, startedAt)
      const leftMs = deadline(clock, plan.waitMs)
      const line = lineOf(plan.key)
      if (!line.grant && !line.competing) return compete(plan, leftMs, signal, contended)

      const { turn, sawHolder } = await waitInLine(line, plan, leftMs, signal)
      if (turn === 'compete') {
        const acquired = await compete(plan, leftMs, signal, () => undefined, sawHolder)
        return { ...acquired, waitedMs: waitedMs() }
      }
      if (!turn && !sawHolder) throw unanswered('acquire')
      return { grant: turn?.grant, waitedMs: waitedMs(), commands: 0 }
    },

    handOver(grant) {
      const line = lines.get(grant.key)
      const [next] = line?.waiters ?? []
      if (line?.grant !== grant || !next?.plan.renew || grant.tokenLeft || stretchIsOver(line)) return false
      // Whoever competes came before those in line.
      if (line.competing) return false
      const { ttlMs, minValidityMs } = next.plan
      if (grant.remainingMs() < Math.max(ttlMs / 2, minValidityMs)) return false
      // Nor may a dead holder block others for much longer than the ttl it asked for.
      if (grant.expiresInMs() > 2 * ttlMs) return false
      if (line.handOffs++ === 0) line.firstHandOff = instant(clock)
      grant.passOn(ttlMs)
      line.wanted = false
      give(line, next, { grant })
      tellHolder(line)
      return true
    },

    holding: (key) => lines.get(key)?.grant,

    ended(grant, listeners) {
      const line = lines.get(grant.key)
      if (line?.grant !== grant) return
      line.grant = undefined
      const [next] = line.waiters
      const nobodyElse = notifier !== undefined && listeners === 0
      if (!next || nobodyElse || !stretchIsOver(line)) {
        advance(grant.key, line)
        return
      }
      // Keeps the place of the one of us who will try, while others go first. Those who poll cannot be told: without a
      // notifier our next one waits as long as it would after a refusal.
      const pauseMs = notifier ? headStartMs : next.plan.strategy.delayMs(1, jitter())
      line.competing = true
      clock.schedule(() => {
        line.competing = false
        advance(grant.key, line)
      }, pauseMs)
    },
  }
}
