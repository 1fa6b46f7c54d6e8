import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Refused, ReleaseOutcome, RenewOutcome, Unknown } from './lease-store.ts'

/**
 * An optional port of a store: who is in a room, and in which role.
 *
 * A room is a key. Each session in it has an *entry*, which is a lease: it has an expiry and a fence of its own, and
 * whoever has its token renews it or ends it. An *exclusive* role has one user at a time, who may have it in several
 * sessions. Everything else that is known of a room, such as who has a role, counts only while the entry behind it
 * lives. So no list can disagree with the leases.
 *
 * As with `LeaseStore`, an outcome is *yes*, *no* or *unknown*, a request is carried out atomically or not at all, and it may be
 * repeated with the same acquisition id or token without harm. A call rejects only with an `InvalidOptionError`, before anything is
 * sent.
 */
export interface PresenceStore {
  enter(request: EnterRequest, call: CallDeadline): Promise<EnterOutcome>
  /** Extends entries, as `LeaseStore.renew` does. `superseded`: another session or user took the place over. */
  renew(requests: readonly EntryRequest[], call: CallDeadline): Promise<readonly RenewOutcome[]>
  /** Ends entries. Without a token, it undoes an enter by its acquisition id. */
  leave(requests: readonly LeaveRoomRequest[], call: CallDeadline): Promise<readonly ReleaseOutcome[]>
  /** Says who is in rooms; changes nothing. */
  look(requests: readonly LookRoomRequest[], call: CallDeadline): Promise<readonly LookRoomOutcome[]>
}

/** Who may be displaced by an enter: nobody, other sessions of its user in the same role, or whoever has the role. */
export type TakeOver = 'nobody' | 'mine' | 'anyone'

export interface EnterRequest {
  /** The room. */
  readonly key: string
  /** The part of the token before the fence. All retries of one enter keep it. */
  readonly acquisitionId: string
  readonly ttlMs: number
  readonly role: string
  /** Whether only one user at a time has the role. If not, any number may. */
  readonly exclusive: boolean
  readonly userId: string
  /** Names a session of this user. An entry of the same session already in the room is displaced, whatever its role. */
  readonly sessionId: string
  readonly takeOver: TakeOver
}

export type EnterOutcome =
  | { readonly type: 'granted'; readonly token: string; readonly fence: number }
  /** Another user has the role. */
  | { readonly type: 'held'; readonly by: RoomEntry }
  /** This entry came and went already. Nothing is granted; ask again with a new acquisition id. */
  | { readonly type: 'spent' }
  | Unknown
  | Refused

export interface EntryRequest {
  readonly key: string
  readonly token: string
  readonly ttlMs: number
}

export type LeaveRoomRequest = { readonly key: string } & (
  | { readonly token: string }
  | { readonly acquisitionId: string }
)

export interface LookRoomRequest {
  readonly key: string
  /** The version that the last look returned, so that an unchanged room is not listed again. */
  readonly version?: string | undefined
  /** Only entries of this role: of its user if it is exclusive, or of the user that is asked about. */
  readonly role?: string | undefined
  readonly userId?: string | undefined
}

export type LookRoomOutcome =
  | { readonly type: 'room'; readonly version: string; readonly entries: readonly RoomEntry[] }
  /** The room is unchanged since that version. */
  | { readonly type: 'same' }
  | Unknown
  | Refused

/** A session in a room. It never contains the token. */
export interface RoomEntry {
  readonly userId: string
  readonly sessionId: string
  readonly role: string
  readonly exclusive: boolean
  /** Grows with every entry of the room. */
  readonly fence: number
  /** The name of the locker that keeps the entry; null if it has none. */
  readonly server: string | null
  readonly since: Date
  /** Time until the entry ends unless it is renewed, in milliseconds. */
  readonly expiresInMs: number
}
