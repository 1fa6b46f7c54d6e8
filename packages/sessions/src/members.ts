import type { LookRoomRequest, RoomEntry, Rooms } from '@leasehold/core/presence'

/** A user who is there: one presence, however many sessions it has, on whichever servers. */
export interface Member {
  readonly userId: string
  /** In the order in which it entered them. */
  readonly roles: readonly string[]
  /** The earliest first. */
  readonly sessions: readonly RoomEntry[]
  /** When the earliest of its present sessions entered. */
  readonly since: Date
}

/**
 * The users that one look at a room finds.
 *
 * @throws StoreUnavailableError when the store did not answer
 */
export async function membersFound(rooms: Rooms, request: LookRoomRequest): Promise<readonly Member[]> {
  const [view] = await rooms.look([request])
  if (view instanceof Error) throw view
  return membersOf(view?.entries ?? [])
}

/** The users behind some entries, in the order in which they came. */
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
