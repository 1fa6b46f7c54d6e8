import type { LookRoomRequest, RoomEntry, Rooms } from '@leasehold/core/presence'

/** A user who is present: once, however many sessions they have, on any servers. */
export interface Member {
  readonly userId: string
  /** In the order in which the user entered them. */
  readonly roles: readonly string[]
  /** The user's sessions, earliest first. */
  readonly sessions: readonly RoomEntry[]
  /** When the earliest of these sessions entered. */
  readonly since: Date
}

/**
 * Reads a room once, and returns the users found.
 *
 * @throws StoreUnavailableError when the store did not answer
 */
export async function membersFound(rooms: Rooms, request: LookRoomRequest): Promise<readonly Member[]> {
  const [view] = await rooms.look([request])
  if (view instanceof Error) throw view
  return membersOf(view?.entries ?? [])
}

/** The users behind some entries, in the order in which they entered. */
export function membersOf(entries: readonly RoomEntry[]): readonly Member[] {
  const byUser = new Map<string, RoomEntry[]>()
  for (const entry of [...entries].sort((a, b) => a.fence - b.fence)) {
    const own = byUser.get(entry.userId)
    if (own) own.push(entry)
    else byUser.set(entry.userId, [entry])
  }
  return Array.from(byUser, ([userId, sessions]) => ({
    userId,
    roles: [...new Set(sessions.map(({ role }) => role))],
    sessions,
    since: (sessions[0] as RoomEntry).since,
  }))
}
