import type { WaitStrategy } from '@leasehold/core'
import type { LockRecord, RecordedWait, SentRequest } from './lock-history.ts'
import {
  type Entry,
  entriesOf,
  type FreeSpan,
  freeSpansOf,
  lengthMs,
  overlap,
  ownedSpan,
  type Span,
  totalMs,
  touches,
  without,
} from './lock-timeline.ts'

/**
 * How long a call would go without asking the store if it were alone: with a notifier its recheck, without one the longest
 * pause of its strategy (`poll`: 1.5 times `every`; `backoff`: `to`).
 */
export const patienceMs = (waiter: { readonly recheckMs: number } | { readonly strategy: WaitStrategy }): number =>
  'recheckMs' in waiter ? waiter.recheckMs : waiter.strategy.delayMs(64, 1)

/**
 * What is wrong.
 *
 * - `free`: the lock was free for longer than a waiter's bound, and the waiter did not get it
 * - `unasked`: it was free for longer than that in all, since the waiter's process last asked for it
 * - `nobody`: no caller had it for longer than that and what the store may keep for nobody
 * - `deadline`: a call ended before or after its time
 * - `abort`: a call went on after its signal was aborted
 * - `outcome`: a call was told what is not true
 */
export type LivenessRule = 'free' | 'unasked' | 'nobody' | 'deadline' | 'abort' | 'outcome'

export interface LivenessFault {
  readonly rule: LivenessRule
  readonly wait: RecordedWait
  /** When it began to be wrong. */
  readonly atMs: number
  /** A sentence for whoever reads the failure. */
  readonly text: string
}

export interface LivenessOptions {
  /** The longest time between a request and its answer, of those that are answered in time; default 0. */
  readonly roundTripMs?: number
  /** How long a store command may stay unanswered, retry included; default 2 s. */
  readonly commandDeadlineMs?: number
}

/** Rounding of timers, and the head start of 2 ms that others get where a notifier told them of a release. */
const slackMs = 5

/** One call may stand in for another that would ask up to so many times as often. */
const alike = 2

/** A waiter asks at the latest this long after the remaining time that it was told is over: a spread of 50 ms, and 1. */
const afterExpiryMs = 51

/** Whoever waits behind a holder of its own process learns within this time that somebody took the lock away from that. */
const revocationMs = 1_000

/** A release without an answer holds up the next waiter of its process for no more than this share of its attempt. */
const unansweredReleaseShare = 0.2

/** What a wait is judged by: all of it is about its key, and requests are those of its process. */
interface Scene {
  readonly wait: RecordedWait
  readonly span: Span
  readonly boundMs: number
  readonly waits: readonly RecordedWait[]
  readonly requests: readonly SentRequest[]
  readonly entries: readonly Entry[]
  readonly free: readonly FreeSpan[]
  readonly owned: readonly Span[]
  readonly roundTripMs: number
  readonly commandDeadlineMs: number
}

/**
 * Judges a record: whoever waits for a free lock gets it within a bound, calls end when they should, and nobody is told
 * what is not true. Who gets a lock that several wait for is left open: between processes there is no order.
 *
 * The bound of a waiter is the longest that it, or a waiter of its process that may stand in for it, goes without asking
 * the store. Who may stand in has at most twice its patience; nobody may wait longer because somebody else is slower than
 * that. A head start for other processes is no addition: nobody asks for that time, which is at most the waiter's own
 * patience, and then somebody asks at once. To the bound come
 *
 * - two round trips: that of an answer under way when the lock became free, and that of the next request;
 * - the time in which requests of the process stayed unanswered for longer than that, each no longer than the command deadline, and a release
 *   for a share of it, as a waiter need not know how a release ended;
 * - after the lock was taken away from the waiter's own process, and until its holder leaves: the bound, or the second within
 *   which a waiter notices it if that is more.
 *
 * Where the lock became free by expiry, and a waiter of the process had been told of the remaining time, the bound is the
 * spread after that time, however patient the waiters.
 *
 * What the store keeps for nobody (a grant whose answer was lost) lasts for its ttl, and once more if a request that the
 * network delivers late arms it again.
 */
export function livenessFaults(record: LockRecord, options: LivenessOptions = {}): readonly LivenessFault[] {
  const { roundTripMs = 0, commandDeadlineMs = 2_000 } = options
  const { endMs } = record
  const faults: LivenessFault[] = []
  for (const key of new Set(record.waits.map((wait) => wait.key))) {
    const waits = record.waits.filter((wait) => wait.key === key)
    const entries = entriesOf(record, key)
    const about = {
      waits,
      entries,
      free: freeSpansOf(entries, endMs),
      owned: waits.flatMap((wait) => ownedSpan(wait, endMs)),
      roundTripMs,
      commandDeadlineMs,
    }
    const ofKey = record.requests.filter((request) => request.key === key)
    for (const process of new Set(waits.map((wait) => wait.process))) {
      const requests = ofKey.filter((request) => request.process === process)
      for (const wait of waits) {
        if (wait.process !== process) continue
        const span = spanOf(wait, endMs)
        const scene = { ...about, wait, span, requests, boundMs: boundMs(wait, span, waits, endMs) }
        faults.push(...(waitedInVain(scene) ?? []), ...misled(scene, endMs))
      }
    }
  }
  return faults
}

const spanOf = ({ sinceMs, endedAtMs }: RecordedWait, endMs: number): Span => ({
  fromMs: sinceMs,
  toMs: endedAtMs ?? endMs,
})

/** How long the waiter, or one that may stand in for it, goes without asking the store. */
function boundMs(wait: RecordedWait, span: Span, waits: readonly RecordedWait[], endMs: number): number {
  const standIns = waits.filter(
    (other) =>
      other.process === wait.process &&
      other.waitMs > 0 &&
      other.patienceMs <= alike * wait.patienceMs &&
      touches(spanOf(other, endMs), span),
  )
  return Math.max(wait.patienceMs, ...standIns.map((other) => other.patienceMs))
}

/** What is wrong while the call waits: one fault at most, the plainest. */
function waitedInVain(scene: Scene): readonly LivenessFault[] | undefined {
  if (scene.wait.waitMs === 0) return undefined
  return freeTooLong(scene) ?? unaskedTooLong(scene) ?? nobodysTooLong(scene)
}

function freeTooLong(scene: Scene): readonly LivenessFault[] | undefined {
  const { wait, span, roundTripMs } = scene
  for (const free of scene.free) {
    const waited = overlap(free, span)
    const limitMs = boundAfter(scene, free) + 2 * roundTripMs + slackMs
    if (lengthMs(waited) <= limitMs) continue
    const waitedMs = totalMs(without(waited, excuses(scene)))
    if (waitedMs <= limitMs) continue
    const how = free.entry?.freedBy ?? 'free from the beginning'
    return [fault('free', wait, waited.fromMs, `${how}, and free for ${round(waitedMs)} of ${round(limitMs)} ms`)]
  }
  return undefined
}

function unaskedTooLong(scene: Scene): readonly LivenessFault[] | undefined {
  const { wait, span, roundTripMs, requests } = scene
  const free = scene.free.filter((each) => lengthMs(overlap(each, span)) > 0)
  if (totalMs(free.map((each) => overlap(each, span))) <= scene.boundMs) return undefined
  const asked = requests.filter(({ name, atMs }) => name === 'acquire' && atMs >= span.fromMs && atMs < span.toMs)
  let { fromMs } = span
  for (const toMs of [...asked.map(({ atMs }) => atMs), span.toMs]) {
    const unasked = free.filter((each) => lengthMs(overlap(each, { fromMs, toMs })) > 0)
    const limitMs =
      Math.max(...unasked.map((each) => boundAfter(scene, each)), scene.boundMs) + 2 * roundTripMs + slackMs
    const pieces = unasked.flatMap((each) => without(overlap(each, { fromMs, toMs }), excuses(scene)))
    if (totalMs(pieces) > limitMs) {
      return [
        fault(
          'unasked',
          wait,
          fromMs,
          `unasked while free for ${round(totalMs(pieces))} of ${round(limitMs)} ms in all`,
        ),
      ]
    }
    fromMs = toMs
  }
  return undefined
}

function nobodysTooLong(scene: Scene): readonly LivenessFault[] | undefined {
  const { wait, span, roundTripMs, commandDeadlineMs } = scene
  for (const idle of without(span, scene.owned)) {
    const kept = scene.entries.filter((entry) => touches(entry, idle)).map(({ ttlMs }) => ttlMs)
    const limitMs =
      Math.max(scene.boundMs, revocationMs) + 2 * Math.max(0, ...kept) + commandDeadlineMs + 2 * roundTripMs + slackMs
    if (lengthMs(idle) <= limitMs) continue
    return [fault('nobody', wait, idle.fromMs, `no caller had it for ${round(lengthMs(idle))} of ${round(limitMs)} ms`)]
  }
  return undefined
}

/** The bound for a lock that became free in this way. */
function boundAfter(scene: Scene, { entry }: FreeSpan): number {
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

const requestSpan = ({ atMs, endedAtMs = Infinity }: SentRequest): Span => ({ fromMs: atMs, toMs: endedAtMs })

/** Whether a request had no answer, or not in the time that a round trip takes. */
const isSlow = ({ roundTripMs }: Scene, request: SentRequest): boolean =>
  !request.answered || lengthMs(requestSpan(request)) > roundTripMs

/**
 * The times in which the process had asked for something in vain, or took itself for the holder though somebody had taken
 * the lock away from it, as far as that is an excuse.
 */
function excuses(scene: Scene): readonly Span[] {
  const { wait, waits, entries, requests, boundMs, commandDeadlineMs } = scene
  const unanswered = requests
    .filter((request) => isSlow(scene, request))
    .map((request) => {
      const { fromMs, toMs } = requestSpan(request)
      const lastedMs = Math.min(toMs - fromMs, commandDeadlineMs)
      return { fromMs, toMs: fromMs + lastedMs * (request.name === 'release' ? unansweredReleaseShare : 1) }
    })
  const unnoticed = entries
    .filter(({ process, freedBy }) => process === wait.process && freedBy === 'revoked')
    .map((entry) => {
      const leftMs = waits.filter((each) => isLeaseOf(each, entry)).map((each) => each.leftAtMs ?? Infinity)
      const lastLeft = leftMs.length > 0 ? Math.max(...leftMs) : Infinity
      const noticedMs = Math.max(entry.toMs, wait.sinceMs) + Math.max(revocationMs, boundMs)
      return { fromMs: entry.toMs, toMs: Math.min(noticedMs, lastLeft) }
    })
  return [...unanswered, ...unnoticed]
}

/** What is wrong with how the call ended. */
function misled(scene: Scene, endMs: number): readonly LivenessFault[] {
  const { wait, span, commandDeadlineMs } = scene
  const { end, abortedAtMs, endedAtMs, sinceMs, waitMs } = wait
  const faults: LivenessFault[] = []
  const dueMs = sinceMs + (waitMs || commandDeadlineMs)
  if (span.toMs > dueMs + slackMs) {
    faults.push(fault('deadline', wait, dueMs, endedAtMs === undefined ? 'it has not ended' : 'it ended late'))
  }
  const early = waitMs > 0 && (end === 'busy' || end === 'unavailable') && span.toMs < dueMs - slackMs
  if (early) faults.push(fault('deadline', wait, span.toMs, `it gave up ${round(dueMs - span.toMs)} ms early`))
  if (abortedAtMs !== undefined && abortedAtMs < (endedAtMs ?? endMs)) {
    faults.push(fault('abort', wait, abortedAtMs, 'it went on after it was aborted'))
  }
  const lie = untrue(scene)
  if (lie) faults.push(fault('outcome', wait, span.toMs, lie))
  return faults
}

/** What the call was told, if it is not true. */
function untrue({ wait, waits, span, entries, requests }: Scene): string | undefined {
  const { end, fence, waitMs } = wait
  if (end === 'failed') return 'it failed'
  if (end === 'busy' && waitMs === 0 && !entries.some((entry) => touches(entry, span))) return 'busy, and it was free'
  if (end === 'unavailable') {
    const silence = requests.some((each) => {
      const request = requestSpan(each)
      return touches(span, request) && (!each.answered || request.toMs > span.toMs)
    })
    return silence ? undefined : 'unavailable, and each request was answered'
  }
  if (end !== 'granted' || typeof fence !== 'number') return undefined
  const entry = entries.find((each) => isLeaseOf(wait, each))
  if (!entry) return 'granted, and the store knows of no such grant'
  if (entry.toMs < span.toMs && entry.freedBy !== 'revoked') return `granted when that grant had ${entry.freedBy}`
  const twice = waits.some((other) => other !== wait && other.end === 'granted' && other.fence === fence)
  return twice ? 'granted with the fence of another' : undefined
}

/** Whether the call was granted a lease of this entry. */
const isLeaseOf = ({ process, fence }: RecordedWait, entry: Entry): boolean =>
  process === entry.process &&
  typeof fence === 'number' &&
  typeof entry.fence === 'number' &&
  entry.fence <= fence &&
  fence < entry.fence + entry.fences

const round = (ms: number): number => Math.round(ms * 10) / 10

function fault(rule: LivenessRule, wait: RecordedWait, atMs: number, what: string): LivenessFault {
  const who = `"${wait.key}", wanted by ${wait.process} since ${round(wait.sinceMs)} ms (patience ${round(wait.patienceMs)} ms)`
  return { rule, wait, atMs, text: `${who}: ${what}, at ${round(atMs)} ms` }
}
