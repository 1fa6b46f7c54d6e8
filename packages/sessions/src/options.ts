import { type Clock, type Duration, type Locker, parseDuration, systemClock } from '@leasehold/core'
import { demandObject, demandOption, refuseUnknown } from '@leasehold/core/adapter'
import type { TakeOver } from '@leasehold/core/presence'
import type { SessionEvent } from './events.ts'
import { defaultRecheck, defaultSilence, defaultTtl } from './figures.ts'
import type { SocketLike } from './socket.ts'

export interface SessionsOptions {
  /**
   * How long an entry lives without renewal; default 10 s. If this server is killed, its members are gone after that.
   * If it cannot reach the store, it gives up its sessions within that time, before others can take their roles.
   */
  readonly ttl?: Duration | undefined
  /** How long a client may be silent before its session ends; default 15 s. See {@link Session.seen}. */
  readonly silence?: Duration | undefined
  /**
   * The roles that any number of users may have at a time, such as `['reader']`; default none. Any other role has one
   * user at a time.
   */
  readonly sharedRoles?: readonly string[] | undefined
  /** Whom an entering session may displace, unless its own option says otherwise; default `nobody`. */
  readonly takeOver?: TakeOver | undefined
  /** How often a watched room is read, even if no change is announced; default 500 ms. */
  readonly recheck?: Duration | undefined
  /** Called with the events of this server's sessions. Its errors are ignored. */
  readonly onEvent?: ((event: SessionEvent) => void) | undefined
  /** The source of time; default the runtime's clock. Use the same clock as the locker. */
  readonly clock?: Clock | undefined
}

/** Who enters, and how. */
export interface EnterOptions {
  /** What the roles belong to, such as a document. It is the room's key in the store. */
  readonly resource: string
  readonly role: string
  /**
   * Which of the user's connections this is, such as a tab. One that enters again displaces its earlier self, on
   * whatever server.
   */
  readonly sessionId: string
  readonly userId: string
  /**
   * Whom the session may displace: `nobody`; `mine`, other sessions of this user in the role; or `anyone` who has it.
   * With `nobody`, several sessions of one user share a role, and another user is refused.
   */
  readonly takeOver?: TakeOver | undefined
  /**
   * The client's socket, of the library `ws`. It is pinged three times within `silence`, which browsers answer
   * automatically; anything received on it is a sign of life. Its sessions end when it closes, and it is closed when
   * the last of them ends: with 4001 if that was taken over, 4003 if it was lost. Without a socket, call `seen` and
   * `leave` yourself.
   */
  readonly socket?: SocketLike | undefined
  readonly signal?: AbortSignal | undefined
}

/** The options, complete and checked. */
export interface Settings {
  readonly locks: Locker
  readonly ttlMs: number
  readonly silenceMs: number
  readonly recheckMs: number
  readonly shared: ReadonlySet<string>
  readonly takeOver: TakeOver
  readonly clock: Clock
  readonly tell: (event: SessionEvent) => void
}

/** @throws InvalidOptionError naming the first option that is unknown or bad */
export function settingsOf(locks: Locker, options: SessionsOptions): Settings {
  demandObject(options)
  const { ttl = defaultTtl, silence = defaultSilence, recheck = defaultRecheck, ...others } = options
  const { sharedRoles = [], takeOver = 'nobody', onEvent, clock = systemClock, ...rest } = others
  refuseUnknown(rest)
  demandOption(Array.isArray(sharedRoles), 'sharedRoles', 'a list of roles')
  demandOption(onEvent === undefined || typeof onEvent === 'function', 'onEvent', 'a function')
  return {
    locks,
    ttlMs: parseDuration('ttl', ttl),
    silenceMs: parseDuration('silence', silence),
    recheckMs: parseDuration('recheck', recheck),
    shared: new Set(sharedRoles),
    takeOver,
    clock,
    tell: listenerOf(onEvent),
  }
}

/** Calls a listener and drops its errors, thrown at once or later: they must not disturb a session. */
export function listenerOf<T>(listener: ((value: T) => unknown) | undefined): (value: T) => void {
  const tell = async (value: T): Promise<unknown> => listener?.(value)
  return (value) => void tell(value).catch(() => undefined)
}
