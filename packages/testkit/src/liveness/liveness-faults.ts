import { boundAfter, boundMs, excuses, revocationMs, type Scene, slackMs, spanOf } from './bound.ts'
import { misled } from './endings.ts'
import { fault, type LivenessFault, round } from './fault.ts'
import type { LockRecord } from './lock-record.ts'
import { entriesOf, freeSpansOf, heldSpan, lengthMs, overlap, totalMs, touches, without } from './lock-timeline.ts'

export interface LivenessOptions {
  /** The longest time between a request and an answer that counts as in time; default 0. */
  readonly roundTripMs?: number
  /** How long a store command may stay unanswered, retry included; default 2 s. */
  readonly commandDeadlineMs?: number
}

/**
 * Judges a record: a waiter gets a free lock within a bound, calls end when they should, and no call is given an answer
 * that is not true. Which of several waiters gets a lock is left open: there is no order between processes.
 *
 * The bound of a waiter is the longest time that it, or a waiter of its process that may stand in for it, goes without
 * asking the store. A stand-in has at most twice the waiter's patience: no waiter may wait longer because another is
 * slower than that. A head start for other processes adds nothing: nobody asks during that time, which is at most the
 * waiter's own patience, and then somebody asks at once. Added to the bound are
 *
 * - two round trips: that of an answer in flight when the lock became free, and that of the next request;
 * - the time for which requests of the process stayed unanswered for longer than a round trip, at most the command
 *   deadline for each, and a twentieth of it for a release, as a waiter need not know how a release ended;
 * - after the lock was taken away from the waiter's own process, and until its holder leaves: the bound, or the second within
 *   which a waiter notices the loss if that is more; and the same again after a check that stayed unanswered.
 *
 * If the lock became free by expiry, and a waiter of the process had been told the remaining time, the bound is the
 * spread after that time, however patient the waiters are.
 *
 * What the store keeps for nobody (a grant whose answer was lost) lasts for its ttl, and once more if a request that the
 * network delivers late re-arms it.
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
      held: waits.flatMap((wait) => heldSpan(wait, endMs)),
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

/** The fault while the call waits: at most one, the plainest. */
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
  const { wait, span, roundTripMs } = scene
  const free = scene.free.filter((each) => lengthMs(overlap(each, span)) > 0)
  if (totalMs(free.map((each) => overlap(each, span))) <= scene.boundMs) return undefined
  let { fromMs } = span
  for (const toMs of [...askedAtMs(scene), span.toMs]) {
    const unasked = free.filter((each) => lengthMs(overlap(each, { fromMs, toMs })) > 0)
    const limitMs =
      Math.max(...unasked.map((each) => boundAfter(scene, each)), scene.boundMs) + 2 * roundTripMs + slackMs
    const pieces = unasked.flatMap((each) => without(overlap(each, { fromMs, toMs }), excuses(scene)))
    if (totalMs(pieces) > limitMs) {
      const what = `unasked while free for ${round(totalMs(pieces))} of ${round(limitMs)} ms in all`
      return [fault('unasked', wait, fromMs, what)]
    }
    fromMs = toMs
  }
  return undefined
}

/** When the process asked for the lock or was granted it during the wait: the network may hold a request for long. */
function askedAtMs({ wait, span, requests, entries }: Scene): readonly number[] {
  const asked = requests.filter(({ name }) => name !== 'release').map(({ atMs }) => atMs)
  const granted = entries.filter(({ process }) => process === wait.process).map(({ fromMs }) => fromMs)
  return [...asked, ...granted].filter((atMs) => atMs >= span.fromMs && atMs < span.toMs).sort((a, b) => a - b)
}

function nobodysTooLong(scene: Scene): readonly LivenessFault[] | undefined {
  const { wait, span, roundTripMs, commandDeadlineMs } = scene
  for (const idle of without(span, scene.held)) {
    const kept = scene.entries.filter((entry) => touches(entry, idle)).map(({ ttlMs }) => ttlMs)
    const limitMs =
      Math.max(scene.boundMs, revocationMs) + 2 * Math.max(0, ...kept) + commandDeadlineMs + 2 * roundTripMs + slackMs
    if (lengthMs(idle) <= limitMs) continue
    return [fault('nobody', wait, idle.fromMs, `no caller had it for ${round(lengthMs(idle))} of ${round(limitMs)} ms`)]
  }
  return undefined
}
