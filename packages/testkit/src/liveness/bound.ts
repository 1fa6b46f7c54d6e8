import type { WaitStrategy } from '@leasehold/core'
import type { RecordedWait, SentRequest } from './lock-record.ts'
import { type Entry, type FreeSpan, lengthMs, type Span, touches } from './lock-timeline.ts'

/**
 * How long a call would go without asking the store if it were alone: with a notifier its recheck, without one the longest
 * pause of its strategy (`poll`: 1.5 times `every`; `backoff`: `to`).
 */
export const patienceMs = (waiter: { readonly recheckMs: number } | { readonly strategy: WaitStrategy }): number =>
  'recheckMs' in waiter ? waiter.recheckMs : waiter.strategy.delayMs(64, 1)

/** Rounding of timers, and the head start of 2 ms that others get where a notifier told them of a release. */
export const slackMs = 5

/** One call may stand in for another that would ask up to so many times as often. */
const alike = 2

/** A waiter asks at the latest this long after the remaining time that it was told is over: a spread of 40 ms, and 1. */
const afterExpiryMs = 41

/** Whoever waits behind a holder of its own process learns within this time that somebody took the lock away from that. */
export const revocationMs = 1_000

/** A release without an answer holds up the next waiter of its process for no more than this share of a command deadline. */
const unansweredReleaseShare = 1 / 20

/** What a wait is judged by: all of it is about its key, and requests are those of its process. */
export interface Scene {
  readonly wait: RecordedWait
  readonly span: Span
  readonly boundMs: number
  readonly waits: readonly RecordedWait[]
  readonly requests: readonly SentRequest[]
  readonly entries: readonly Entry[]
  readonly free: readonly FreeSpan[]
  readonly held: readonly Span[]
  readonly roundTripMs: number
  readonly commandDeadlineMs: number
}

export const spanOf = ({ sinceMs, endedAtMs }: RecordedWait, endMs: number): Span => ({
  fromMs: sinceMs,
  toMs: endedAtMs ?? endMs,
})

/** How long the waiter, or one that may stand in for it, goes without asking the store. */
export function boundMs(wait: RecordedWait, span: Span, waits: readonly RecordedWait[], endMs: number): number {
  const standIns = waits.filter(
    (other) =>
      other.process === wait.process &&
      other.waitMs > 0 &&
      other.patienceMs <= alike * wait.patienceMs &&
      touches(spanOf(other, endMs), span),
  )
  return Math.max(wait.patienceMs, ...standIns.map((other) => other.patienceMs))
}

/** The bound for a lock that became free in this way. */
export function boundAfter(scene: Scene, { entry }: FreeSpan): number {
  const { boundMs } = scene
  if (entry?.freedBy === 'expired' && wasAnnounced(scene, entry)) return Math.min(boundMs, afterExpiryMs)
  return boundMs
}

/**
 * Whether a waiter of the process knows when this entry ends: it asked while the entry was there. Requests of calls that
 * do not wait tell no waiter, after a hold of its own the process may leave the lock to others for a while, and an answer that
 * was long under way tells of a time that is over.
 */
function wasAnnounced(scene: Scene, entry: Entry): boolean {
  const { wait, waits, entries, requests, boundMs } = scene
  const isOurs = ({ process }: { readonly process: string }): boolean => process === wait.process
  const tried = waits.some((each) => isOurs(each) && each.waitMs === 0 && touches(spanOf(each, entry.toMs), entry))
  const heldBefore = entries.some(
    (each) => isOurs(each) && each.toMs + boundMs >= entry.fromMs && each.fromMs <= entry.toMs,
  )
  const misheard = requests.some((each) => isSlow(scene, each) && touches(requestSpan(each), entry))
  if (tried || heldBefore || misheard || wait.sinceMs > entry.toMs) return false
  return requests.some(
    ({ name, answered, atMs, endedAtMs = Infinity }) =>
      name === 'acquire' && answered && atMs >= entry.fromMs && endedAtMs <= entry.toMs,
  )
}

export const requestSpan = ({ atMs, endedAtMs = Infinity }: SentRequest): Span => ({ fromMs: atMs, toMs: endedAtMs })

/** Whether a request had no answer, or not in the time that a round trip takes. */
const isSlow = ({ roundTripMs }: Scene, request: SentRequest): boolean =>
  !request.answered || lengthMs(requestSpan(request)) > roundTripMs

/**
 * The times in which the process had asked for something in vain, or took itself for the holder though somebody had taken
 * the lock away from it, as far as that is an excuse.
 */
export const excuses = (scene: Scene): readonly Span[] => [
  ...scene.requests.filter((request) => isSlow(scene, request)).map((request) => silence(scene, request)),
  ...scene.entries
    .filter(({ process, freedBy }) => process === scene.wait.process && freedBy === 'revoked')
    .map((entry) => unnoticed(scene, entry)),
]

/** How long a request without an answer holds up those who wait. */
function silence({ commandDeadlineMs }: Scene, request: SentRequest): Span {
  const { fromMs, toMs } = requestSpan(request)
  const share = request.name === 'release' ? unansweredReleaseShare : 1
  return { fromMs, toMs: Math.min(toMs, fromMs + commandDeadlineMs * share) }
}

/** How long it may go unnoticed that this entry was taken away: a check without an answer is no check. */
function unnoticed(scene: Scene, entry: Entry): Span {
  const { wait, waits, requests, boundMs, commandDeadlineMs } = scene
  const withinMs = Math.max(revocationMs, boundMs)
  let noticedMs = Math.max(entry.toMs, wait.sinceMs) + withinMs
  for (const request of requests) {
    if (request.name !== 'inspect' || request.atMs > noticedMs || !isSlow(scene, request)) continue
    const { fromMs, toMs } = requestSpan(request)
    noticedMs = Math.max(noticedMs, Math.min(toMs, fromMs + commandDeadlineMs) + withinMs)
  }
  const leftMs = waits.filter((each) => isLeaseOf(each, entry)).map((each) => each.leftAtMs ?? Infinity)
  const lastLeft = leftMs.length > 0 ? Math.max(...leftMs) : Infinity
  return { fromMs: entry.toMs, toMs: Math.min(noticedMs, lastLeft) }
}

/** Whether the call was granted a lease of this entry. */
export const isLeaseOf = ({ process, fence }: RecordedWait, entry: Entry): boolean =>
  process === entry.process &&
  typeof fence === 'number' &&
  typeof entry.fence === 'number' &&
  entry.fence <= fence &&
  fence < entry.fence + entry.fences
