import type { RedisTransport, ScriptReply } from '../redis/redis-transport.ts'
import { decoder, itself, notALock } from '../redis/replies.ts'
import { countsSubscribers } from '../redis/run-script.ts'
import type { ReleaseOutcome, RenewOutcome } from '../store/lease-store.ts'
import type { EnterOutcome, LookRoomOutcome, RoomEntry } from '../store/presence.ts'
import { fullRoom } from '../store/presence-limits.ts'
import { parseToken } from '../store/token.ts'

/*
 * Turns the replies of presence's scripts into outcomes. As with the other scripts, the shape of each reply is checked:
 * some clients resolve with something else when aborted, and some turn "123" into a number.
 */

export const enterOutcome: (reply: ScriptReply) => EnterOutcome = decoder<EnterOutcome>({
  bare: (token) => {
    const fence = parseToken(token)?.fence
    return fence !== undefined && { type: 'granted', token: token as string, fence }
  },
  held: ([text, left]) => {
    const by = entryFrom(text, left)
    return !!by && { type: 'held', by }
  },
  spent: itself,
  full: fullRoom,
  other: notALock,
})

export const renewOutcome: (reply: ScriptReply) => RenewOutcome = decoder<RenewOutcome>({
  bare: (word) => word === 'renewed' && { type: word },
  gone: itself,
  superseded: itself,
  other: () => ({ type: 'gone' }),
})

export const leaveOutcome = (transport: RedisTransport): ((reply: ScriptReply) => ReleaseOutcome) =>
  decoder<ReleaseOutcome>({
    bare: (told) => {
      const least = countsSubscribers(transport) ? 0 : 1
      if (typeof told !== 'number') return false
      return { type: 'released', announced: told !== -1, subscribers: told < least ? null : told }
    },
    released: ([told]) => told === -2 && { type: 'released', announced: true, subscribers: null },
    gone: (_, resent) => ({ type: 'gone', resent }),
    superseded: (_, resent) => ({ type: 'superseded', resent }),
    other: (_, resent) => ({ type: 'gone', resent }),
  })

export const lookOutcome: (reply: ScriptReply) => LookRoomOutcome = decoder<LookRoomOutcome>({
  same: itself,
  look: ([version, list]) => {
    if (!Array.isArray(list)) return false
    const entries = Array.from({ length: list.length / 2 }, (_, at) => entryFrom(list[2 * at], list[2 * at + 1]))
    return entries.every((entry) => entry !== undefined) && { type: 'room', version: String(version), entries }
  },
  other: notALock,
})

/** Parses an entry from the text in which the scripts keep it. */
function entryFrom(text: unknown, left: unknown): RoomEntry | undefined {
  const [, fence, name, since, exclusive, role, userId, sessionId] = String(text).split('\n')
  if (role === undefined || userId === undefined || sessionId === undefined) return undefined
  return {
    userId,
    sessionId,
    role,
    exclusive: exclusive === '1',
    fence: Number(fence),
    server: name || null,
    since: new Date(Number(since)),
    expiresInMs: Number(left),
  }
}
