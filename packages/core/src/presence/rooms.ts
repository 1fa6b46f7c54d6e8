import { acquireAlone } from '../acquire/acquire-alone.ts'
import { about, demandObject, demandOption, refuseUnknown } from '../errors.ts'
import { KeyCalls, type Shared, sharedOf } from '../key-locker.ts'
import type { Lease } from '../lease/lease.ts'
import type { LocalQueue } from '../local-queue/local-queue.ts'
import type { Locker } from '../locker.ts'
import { callSettings } from '../options.ts'
import { unanswered } from '../store/answered.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import type { LookRoomRequest, PresenceStore, RoomEntry, TakeOver } from '../store/presence.ts'
import { checkRoomName } from '../store/presence-limits.ts'
import type { Duration } from '../timing/duration.ts'
import { askEach } from './ask-each.ts'
import { never } from './figures.ts'
import { onHint } from './hints.ts'
import type { KeptEntry, KeptOutcome, RoomView } from './kept-entry.ts'
import { presenceOf } from './presence-of.ts'
import { RoomLeases } from './room-leases.ts'

/** Who enters a room, in which role, and how. */
export interface EnterOptions {
  /** The room: a key in the locker's store. It is unrelated to a lock with the same key. */
  readonly room: string
  readonly role: string
  /** Whether only one user at a time has the role; default true. All who use a role must say the same. */
  readonly exclusive?: boolean | undefined
  readonly userId: string
  /** Identifies one of the user's connections. An earlier entry of the same session in this room is displaced. */
  readonly sessionId: string
  /**
   * Whom the session may displace: `nobody` (default), `mine` (this user's other sessions in the role), or `anyone` who
   * has it.
   */
  readonly takeOver?: TakeOver | undefined
  /** How long the entry lives without renewal; default: the locker's `ttl`. */
  readonly ttl?: Duration | undefined
  readonly signal?: AbortSignal | undefined
}

/** Contention is an answer: another user has the role. */
export type Entered =
  | { readonly entered: true; readonly lease: Lease }
  | { readonly entered: false; readonly heldBy: RoomEntry }

/** The calls for rooms; made by {@link rooms}. */
export interface Rooms {
  /**
   * Enters a room. The entry is an ordinary lease of the locker: it is renewed until it is released, and its signal
   * fires when it is lost. The reason is `superseded` if another session or user took over.
   *
   * @throws StoreUnavailableError if the store did not answer, or so late that too little of the ttl was left
   * @throws InvalidOptionError for a bad option, or a room that is full
   * @throws LeaseholdError with code `CLOSED` once the locker is closed
   * @throws the signal's own reason when `signal` is aborted
   */
  enter(options: EnterOptions): Promise<Entered>
  /**
   * Returns who is in rooms, in one round trip for a hundred of them, and changes nothing. A room for which the store
   * did not answer has a `StoreUnavailableError` in its place: on a cluster, the others may have been answered.
   */
  look(requests: readonly LookRoomRequest[]): Promise<readonly (RoomView | Error)[]>
  /**
   * Renews entries that this process does not renew by itself, in one round trip for a hundred of them. Rejects only
   * for a bad option, or with code `CLOSED` once the locker is closed.
   */
  renew(entries: readonly KeptEntry[], ttl: Duration): Promise<readonly KeptOutcome[]>
  /** Ends an entry that nobody holds in this process, and resolves with how that ended, as `Lease.release` does. */
  leave(entry: KeptEntry): Promise<ReleaseResult>
  /**
   * Calls `listener` when something may have changed in a room, as far as the locker's notifier hears of it. That is
   * only a hint: also look from time to time. Returns a function that stops the calls.
   */
  onHint(room: string, listener: () => void): () => void
}

/**
 * Returns the calls for a locker's rooms: who is there, and in which role, by leases.
 *
 * @example
 * ```ts
 * const { entered, ...rest } = await rooms(locks).enter({ room: 'doc:7', role: 'writer', userId: 'ada', sessionId: 'tab-1' })
 * ```
 *
 * @throws InvalidOptionError for anything that is not a locker, or for a locker whose store has no rooms
 */
export function rooms(locks: Locker): Rooms {
  const shared = sharedOf(locks)
  const port = shared && presenceOf(shared.context.store)
  demandOption(shared !== undefined && port !== undefined, 'locks', 'a locker whose store has rooms')
  const { context } = shared
  const leases = leasesOf(shared, port)
  const { queue: _, ...defaults } = shared.defaults

  return {
    async enter(options) {
      const { room, ttl, signal, ...entrant } = checkedEntrant(options)
      let heldBy: RoomEntry | undefined
      const entering = leases.entering(entrant, (by) => {
        heldBy = by
      })
      const line: LocalQueue = {
        acquire: (plan, since) => acquireAlone(entering, plan, since),
        handOff: () => false,
        ended: () => undefined,
        holding: () => undefined,
        close: () => undefined,
      }
      const taking: Shared = { context: leases.context, queue: () => line, jointRenewal: leases.renewal, defaults }
      const calls = new KeyCalls(taking, room, callSettings(defaults, { renew: true, longHeld: never }))
      const lease = await calls.tryAcquire({ ttl, signal })
      if (lease) return { entered: true, lease }
      if (heldBy) return { entered: false, heldBy }
      // The session was let in with too little time left, and has left again. Nobody has the role.
      throw about(room, unanswered('enter'))
    },
    look: (requests) => askEach.look(context, port, requests),
    renew: (entries, ttl) => askEach.renew(context, port, entries, ttl),
    leave: (entry) => askEach.leave(context, port, entry),
    onHint: (room, listener) => onHint(context.notifier, room, listener),
  }
}

/** @throws InvalidOptionError naming the first option that is unknown or bad */
function checkedEntrant(options: EnterOptions) {
  demandObject(options)
  const { room, role, exclusive = true, userId, sessionId, takeOver = 'nobody', ttl, signal, ...rest } = options
  refuseUnknown(rest)
  checkRoomName('role', role)
  checkRoomName('userId', userId)
  checkRoomName('sessionId', sessionId)
  demandOption(typeof exclusive === 'boolean', 'exclusive', 'true or false')
  demandOption(['nobody', 'mine', 'anyone'].includes(takeOver), 'takeOver', "'nobody', 'mine' or 'anyone'", takeOver)
  return { room, role, exclusive, userId, sessionId, takeOver, ttl, signal }
}

const known = new WeakMap<Shared, RoomLeases>()

function leasesOf(shared: Shared, port: PresenceStore): RoomLeases {
  const made = known.get(shared) ?? new RoomLeases(shared.context, port)
  known.set(shared, made)
  return made
}
