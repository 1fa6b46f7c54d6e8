import type { WaitStrategy } from '@leasehold/core'
import type { RecordedWait, SentRequest } from './lock-record.ts'
import { type Entry, type FreeSpan, lengthMs, type Span, touches } from './lock-timeline.ts'

/**
 * How long a call would go without asking the store if it were alone: with a notifier its recheck, without one the longest
 * pause of its strategy (`poll`: 1.5 times `every`; `backoff`: `to`).
 */
export const patienceMs = (waiter: { readonly recheckMs: number } | { readonly strategy: WaitStrategy }): number =>
  'recheckMs' in waiter ? waiter.recheckMs : waiter.strategy.delayMs(64, 1)

/** Allows for the rounding of timers, and the head start of 2 ms that others get when a notifier reports a release. */
export const slackMs = 5

/** A call may stand in for a waiter if its patience is at most this many times the waiter's. */
const alike = 2

/** A waiter asks no later than this after the remaining time that it was told is over: a spread of 40 ms, plus 1. */
const afterExpiryMs = 41

/** A waiter behind a holder of its own process learns within this time that the lock was taken away from the holder. */
export const revocationMs = 1_000

/** An unanswered release holds up the next waiter of its process for at most this share of a command deadline. */
const unansweredReleaseShare = 1 / 20

/** The facts that a wait is judged by. All concern its key, and the requests are those of its process. */
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
 * Whether a waiter of the process knows when this entry ends, because it asked while the entry was there. There are
 * three exceptions: the requests of calls that do not wait inform no waiter, after a hold of its own the process may
 * leave the lock to others for a while, and a slow answer reports a remaining time that is out of date.
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

/** Whether a request had no answer within the time of a round trip. */
const isSlow = ({ roundTripMs }: Scene, request: SentRequest): boolean =>
  !request.answered || lengthMs(requestSpan(request)) > roundTripMs

/**
 * The times in which the process waited for an answer that did not come, or believed that it held the lock though
 * somebody had taken it away, as far as that is an excuse.
 */
export const excuses = (scene: Scene): readonly Span[] => [
  ...scene.requests.filter((request) => isSlow(scene, request)).map((request) => silence(scene, request)),
  ...scene.entries
    .filter(({ process, freedBy }) => process === scene.wait.process && freedBy === 'revoked')
    .map((entry) => unnoticed(scene, entry)),
]

/** The time for which an unanswered request holds up the waiters. */
function silence({ commandDeadlineMs }: Scene, request: SentRequest): Span {
  const { fromMs, toMs } = requestSpan(request)
  const share = request.name === 'release' ? unansweredReleaseShare : 1
  return { fromMs, toMs: Math.min(toMs, fromMs + commandDeadlineMs * share) }
}

/** The time in which the loss of this entry may go unnoticed: a check without an answer does not count. */
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
