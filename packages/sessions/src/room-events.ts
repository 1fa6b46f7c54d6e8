import type { Member } from './members.ts'

/**
 * What a room reports to its watchers, about the users of all servers; `members` are those who are present now. Each
 * joins once and leaves once, however many sessions they have.
 */
export type RoomEvent =
  /** Who is present when watching begins, or when the store answers again. */
  | { readonly type: 'present'; readonly members: readonly Member[] }
  | { readonly type: 'joined' | 'left' | 'changed'; readonly member: Member; readonly members: readonly Member[] }
  /** The store does not answer. Who is there is unknown until `present`. */
  | { readonly type: 'unreachable'; readonly cause: unknown }

/** The events that lead from the members before to the members now. */
export function changesBetween(before: readonly Member[], members: readonly Member[]): readonly RoomEvent[] {
  const events: RoomEvent[] = []
  const known = new Map(before.map((member) => [member.userId, member]))
  const present = new Set(members.map(({ userId }) => userId))
  for (const member of before) if (!present.has(member.userId)) events.push({ type: 'left', member, members })
  for (const member of members) {
    const earlier = known.get(member.userId)
    if (!earlier) events.push({ type: 'joined', member, members })
    else if (sessionsOf(earlier) !== sessionsOf(member)) events.push({ type: 'changed', member, members })
  }
  return events
}

const sessionsOf = ({ sessions }: Member): string => sessions.map(({ fence }) => fence).join()
