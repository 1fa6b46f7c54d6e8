import { type Clock, type Duration, type Locker, parseDuration, systemClock } from '@leasehold/core'
import { demandObject, demandOption, refuseUnknown } from '@leasehold/core/adapter'
import type { TakeOver } from '@leasehold/core/presence'
import type { SessionEvent } from './events.ts'
import { defaultRecheck, defaultSilence, defaultTtl } from './figures.ts'
import type { SocketLike } from './socket.ts'

export interface SessionsOptions {
  /**
   * How long an entry lives without renewal; default 10 s. If this server is killed, its members are gone after that. If it cannot reach
   * the store, it gives its sessions up in that time, before others can take their roles.
   */
  readonly ttl?: Duration | undefined
  /** How long a client may be silent before its session ends; default 15 s. See {@link Session.seen}. */
  readonly silence?: Duration | undefined
  /** The roles that any number of users may have at a time, such as `['reader']`; default none. Every other role has one user. */
  readonly sharedRoles?: readonly string[] | undefined
  /** Whom those who enter displace, unless they say otherwise; default `nobody`. */
  readonly takeOver?: TakeOver | undefined
  /** How often a watched room is looked at, even if nothing is heard of it; default 500 ms. */
  readonly recheck?: Duration | undefined
  /** Called with what becomes of the sessions of this server. A listener that throws changes nothing. */
  readonly onEvent?: ((event: SessionEvent) => void) | undefined
  /** Where time comes from; default the runtime's clock. Give the one of the locker. */
  readonly clock?: Clock | undefined
}

/** Who enters, and how. */
export interface EnterOptions {
  /** What the roles are about, such as a document. It is the room's key in the store. */
  readonly resource: string
  readonly role: string
  /** Which of the user's connections it is, such as a tab. One that comes again displaces its earlier self, wherever that was. */
  readonly sessionId: string
  readonly userId: string
  /**
   * Whom it may displace: `nobody`; `mine`, other sessions of this user in the role; or `anyone` who has it. Without that, several
   * sessions of one user share a role, and another user is refused.
   */
  readonly takeOver?: TakeOver | undefined
  /**
   * The client's socket, of the library `ws`. It is pinged three times within `silence`, which browsers answer by themselves; whatever
   * it hears is a sign of life. Its end is the end of its sessions, and it is closed with the last of them: with 4001 if that was taken
   * over, 4003 if it was lost. Without a socket, call `seen` and `leave` yourself.
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
