import type { Context } from '../context.ts'
import { answered, isUnknown } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import { checkKey } from '../store/key.ts'
import type { ReleaseOutcome, ReleaseResult, RenewOutcome, Unknown } from '../store/lease-store.ts'
import type { LookRoomOutcome, LookRoomRequest, PresenceStore } from '../store/presence.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { mostAtOnce } from './figures.ts'
import type { KeptEntry, KeptOutcome, RoomView } from './kept-entry.ts'

/** Requests about many entries or rooms. A hundred of them share a command, and each gets its own answer. */
export const askEach = {
  async look(
    context: Context,
    port: PresenceStore,
    requests: readonly LookRoomRequest[],
  ): Promise<readonly (RoomView | Error)[]> {
    for (const { key } of requests) checkKey(key)
    context.work.assertOpen()
    const outcomes = await inParts(context, Infinity, requests, (part, call) => port.look(part, call))
    return outcomes.map((outcome, at) => viewOf(requests[at]?.key ?? '', outcome))
  },

  async renew(
    context: Context,
    port: PresenceStore,
    entries: readonly KeptEntry[],
    ttl: Duration,
  ): Promise<readonly KeptOutcome[]> {
    const ttlMs = parseDuration('ttl', ttl)
    context.work.assertOpen()
    const requests = entries.map(({ room, token }) => ({ key: room, token, ttlMs }))
    const outcomes = await inParts<unknown, RenewOutcome>(context, ttlMs, requests, (part, call) =>
      port.renew(part as typeof requests, call),
    )
    return outcomes.map(({ type }) => (type === 'refused' ? 'unknown' : type))
  },

  async leave(context: Context, port: PresenceStore, { room, token }: KeptEntry): Promise<ReleaseResult> {
    context.work.assertOpen()
    const [outcome] = await inParts<unknown, ReleaseOutcome>(context, Infinity, [undefined], (_, call) =>
      port.leave([{ key: room, token }], call),
    )
    if (outcome?.type === 'gone') return outcome.resent ? 'unknown' : 'expired'
    if (outcome?.type === 'released' || outcome?.type === 'superseded') return outcome.type
    return 'unknown'
  },
}

/** The view of a room, or the error that says why there is none. */
function viewOf(key: string, outcome: LookRoomOutcome): RoomView | Error {
  try {
    const room = answered<LookRoomOutcome>('look', key, outcome)
    return room.type === 'room' ? { version: room.version, entries: room.entries } : null
  } catch (error) {
    return error as Error
  }
}

/** Sends a hundred requests at a time. If such a part gets no answer, all requests in it are unknown. */
async function inParts<R, O extends { readonly type: string }>(
  context: Context,
  ttlMs: number,
  requests: readonly R[],
  send: (part: readonly R[], call: CallDeadline) => Promise<readonly (O | Unknown)[]>,
): Promise<readonly (O | Unknown)[]> {
  const outcomes: (O | Unknown)[] = []
  for (let from = 0; from < requests.length; from += mostAtOnce) {
    const part = requests.slice(from, from + mostAtOnce)
    const { outcome } = await ask<readonly (O | Unknown)[]>(context, ttlMs, {
      send: (attempt) =>
        attempt.follow(send(part, attempt).then((each) => (each.every(isUnknown) ? (each[0] as Unknown) : each))),
    })
    for (const at of part.keys()) outcomes.push('type' in outcome ? outcome : (outcome[at] as O))
  }
  return outcomes
}
