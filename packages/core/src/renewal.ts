import { commandDeadlineMs } from './ask.ts'
import type { Context } from './context.ts'
import type { Grant } from './grant.ts'
import type { RenewOutcome } from './lease-store.ts'
import { doublingMs, jitter } from './timing/backoff.ts'
import { withDeadline } from './timing/deadline.ts'
import { type Instant, instant } from './timing/validity.ts'

/** Leases renewed by one command: a script over more would keep Redis from others for too long. */
const chunkSize = 100
/** Commands under way at once. */
const mostInFlight = 4
/** Pause after an unanswered renewal, doubled by each further one, and the least pause, in milliseconds. */
const pauseMs = { from: 50, least: 10 }
/** The share of its ttl after which a lease that nobody renews is announced as expiring. */
const warnAt = 0.8

export interface Renewal {
  /** Watches a grant's validity and, unless `renew` is false, renews it; at most until `maxHoldMs` after it was granted. */
  watch(grant: Grant, renew: boolean, maxHoldMs?: number): void
  /** Takes a grant off the schedule. */
  forget(grant: Grant): void
}

/**
 * The watchdog: renews many grants in few commands and notices when one is lost.
 *
 * A renewal is due a third of the ttl after the last answered one, and never while one is under way. When one falls due,
 * all that would within a quarter of their interval join it. Jitter is drawn per batch, so what was renewed together
 * stays together. An unanswered renewal is not a loss: it is repeated until the grant's own validity is over. One timer
 * serves all grants; it does not keep a process alive.
 */
export function renewal(context: Context): Renewal {
  const { store, clock } = context
  const watched = new Set<Grant>()
  /** Due, and waiting for a free place; the shortest ttl first. */
  const queue: Grant[] = []
  let inFlight = 0
  let timerAtMs = Infinity
  let cancelTimer: (() => void) | undefined

  function disarm(): void {
    cancelTimer?.()
    timerAtMs = Infinity
  }

  /** Sees to it that the timer does not fire later than this grant needs it. */
  function arm(grant: Grant, now: Instant): void {
    const atMs = Math.min(grant.dueMs, now.monotonicMs + grant.remainingMs(now))
    if (atMs >= timerAtMs) return
    disarm()
    timerAtMs = atMs
    cancelTimer = clock.schedule(wake, Math.max(1, Math.ceil(atMs - now.monotonicMs)), 'background')
  }

  function wake(): void {
    disarm()
    const now = instant(clock)
    const nowMs = now.monotonicMs
    const joining: Grant[] = []
    for (const grant of watched) {
      grant.check(now)
      if (!watched.has(grant)) continue
      if (!grant.renews && grant.dueMs <= nowMs) warn(grant)
      else if (grant.renews && grant.dueMs <= nowMs + grant.ttlMs / 12) joining.push(grant)
    }
    if (joining.some(({ dueMs }) => dueMs <= nowMs)) {
      for (const grant of joining) {
        grant.dueMs = Infinity
        grant.renewing = true
        queue.push(grant)
      }
      queue.sort((a, b) => a.ttlMs - b.ttlMs)
      send()
    }
    for (const grant of watched) arm(grant, now)
  }

  /** Nobody renews this one, and most of its time is over. */
  function warn(grant: Grant): void {
    // Its holder may have extended it since.
    const earlyMs = grant.expiresInMs() - grant.ttlMs * (1 - warnAt)
    grant.dueMs = earlyMs > 1 ? clock.monotonicMs() + earlyMs : Infinity
    if (earlyMs > 1) return
    context.emit({ type: 'expiring', key: grant.key, fence: grant.fence, remainingMs: grant.remainingMs() })
  }

  function send(): void {
    while (inFlight < mostInFlight && queue.length > 0) {
      const chunk = nextChunk()
      if (chunk.length > 0) void renew(chunk)
    }
  }

  const attemptMs = ({ ttlMs }: { readonly ttlMs: number }): number => commandDeadlineMs(context, ttlMs) / 2

  /**
   * Takes what may share a command off the queue, the most urgent first. Those of a command have the time for an answer that
   * the shortest ttl of them allows, so the longest may be of twice that and no more.
   */
  function nextChunk(): readonly Grant[] {
    const [first] = queue
    const chunk = queue.slice(0, chunkSize)
    const foreign = chunk.findIndex((grant) => first && attemptMs(grant) > 2 * attemptMs(first))
    return queue.splice(0, foreign < 0 ? chunkSize : foreign).filter((grant) => watched.has(grant))
  }

  async function renew(chunk: readonly Grant[]): Promise<void> {
    inFlight++
    const requests = chunk.map(({ key, token, ttlMs }) => ({ key, token, ttlMs }))
    const limitMs = Math.min(...requests.map(attemptMs))
    const sentAt = instant(clock)
    const take = (outcomes: readonly RenewOutcome[]): void => {
      for (const [index, grant] of chunk.entries()) {
        // What was asked for: the grant may have a holder with another ttl by now.
        grant.take(outcomes[index], { sentAt, ttlMs: requests[index]?.ttlMs ?? 0 })
      }
    }
    const outcomes = await withDeadline(clock, limitMs, (signal) => store.renew(requests, signal), take).catch(
      (cause: unknown) => chunk.map((): RenewOutcome => ({ type: 'unknown', executed: 'unknown', cause })),
    )
    inFlight--
    take(outcomes ?? [])
    schedule(chunk, outcomes ?? [])
    send()
  }

  /** Sets when each grant of a batch that is through comes next. */
  function schedule(chunk: readonly Grant[], outcomes: readonly RenewOutcome[]): void {
    const now = instant(clock)
    const nowMs = now.monotonicMs
    const spread = 0.9 + jitter() / 5
    for (const [index, grant] of chunk.entries()) {
      grant.renewing = false
      if (!watched.has(grant)) continue
      const outcome = outcomes[index]
      if (outcome?.type === 'renewed') {
        grant.unanswered = 0
        grant.dueMs = nowMs + (grant.ttlMs / 3) * spread
      } else {
        const restMs = doublingMs(pauseMs.from, grant.ttlMs / 12, grant.unanswered++)
        grant.dueMs = nowMs + Math.max(pauseMs.least, restMs)
        context.emit({ type: 'renewal-unanswered', key: grant.key, cause: causeOf(outcome) })
      }
      arm(grant, now)
    }
  }

  return {
    watch(grant, renew, maxHoldMs = Infinity) {
      const now = instant(clock)
      const nowMs = now.monotonicMs
      const heldMs = grant.heldMs(now)
      // Leases taken in a burst would renew in a burst: the first renewal comes anywhere in the second half of its time.
      // A grant that was handed off keeps the time it had, or it might be put off again and again.
      const firstMs = renew ? (grant.ttlMs / 3) * (0.5 + jitter() / 2) : grant.ttlMs * warnAt - heldMs
      if (!grant.renewing) grant.dueMs = Math.min(grant.dueMs, nowMs + firstMs)
      grant.renews = renew
      grant.holdUntilMs = nowMs + maxHoldMs - heldMs
      watched.add(grant)
      arm(grant, now)
    },
    forget(grant) {
      watched.delete(grant)
      if (watched.size === 0) disarm()
    },
  }
}

/** Why there is no answer. */
const causeOf = (outcome: RenewOutcome | undefined): unknown =>
  outcome?.type === 'refused' ? outcome.error : outcome?.type === 'unknown' ? outcome.cause : undefined
