import { type Duration, type Lease, type Locker, parseDuration } from '@leasehold/core'
import { chunkSize, demandObject, driftMs, refuseUnknown } from '@leasehold/core/adapter'
import { type DetachedLease, detach } from '@leasehold/core/hand-over'
import { type KeptOutcome, rooms } from '@leasehold/core/presence'
import { type Member, membersFound, membersOf } from './members.ts'
import { type EnterOptions, type SessionsOptions, settingsOf } from './options.ts'

/** A session as plain JSON, such as the attachment of a hibernating socket. The token is a secret: keep it out of messages and logs. */
export interface KeptSession {
  readonly resource: string
  readonly role: string
  readonly sessionId: string
  readonly userId: string
  readonly fence: number
  readonly token: string
  /**
   * When the store's last answer was asked for, in milliseconds of the wall clock: no other clock outlives a
   * hibernation.
   */
  readonly trustedFromMs: number
  /** When the session stops being trusted if the store does not answer again, by the same clock. */
  readonly trustedUntilMs: number
}

/** The calls for sessions that the caller keeps, such as a Durable Object that loses its memory between two events. */
export interface HibernatingSessions {
  /** Like `Sessions.enter`. Afterwards nothing here renews or remembers the session. */
  enter(
    options: Omit<EnterOptions, 'socket'>,
  ): Promise<
    { readonly type: 'entered'; readonly session: KeptSession } | { readonly type: 'held'; readonly by: Member }
  >
  /**
   * Renews sessions, in one request for each hundred, and returns what became of each, in the order given. Keep what is
   * returned in place of what you gave. Leave out those whose clients have been silent. Renew at least three times
   * within the ttl: a session whose renewals get no answer lasts until it can no longer be trusted, and is then lost.
   */
  renew(kept: readonly KeptSession[]): Promise<readonly RenewedSession[]>
  /**
   * For how long a session can be trusted if the store does not answer again, in milliseconds; 0 if it cannot, or if
   * the wall clock has been set back to before the last answer. Nothing wakes an object when this time is over: check
   * before each action that the role allows.
   */
  remaining(kept: KeptSession): number
  /** Ends a session. One that was displaced stays displaced: the end of an old socket affects only its own session. */
  leave(kept: KeptSession): Promise<void>
  verify(resource: string, role: string, userId: string): Promise<boolean>
  members(resource: string): Promise<readonly Member[]>
}

/** What became of a session. */
export interface RenewedSession {
  /** The session as it is to be kept from now on. */
  readonly session: KeptSession
  /**
   * How it ended; undefined while it lasts. `lost`: its time was over before the store renewed it. If the store did not
   * answer, the entry of a lost session may last for another ttl: `leave` ends it sooner.
   */
  readonly end: 'taken-over' | 'lost' | undefined
}

/**
 * Sessions without memory and without timers, for objects that hibernate. Keep each session beside its socket, and renew them from an
 * alarm. Alarms may be a minute late, so give a `ttl` of two minutes and set the alarm every 30 s, or for the earliest
 * `trustedUntilMs` if that comes first.
 *
 * @example
 * ```ts
 * const entered = await hibernatingSessions(locks, { ttl: '2m' }).enter({ resource, role: 'writer', sessionId, userId })
 * if (entered.type === 'entered') socket.serializeAttachment(entered.session)
 * ```
 *
 * @throws InvalidOptionError for a bad option, or a locker whose store has no rooms
 */
export function hibernatingSessions(
  locks: Locker,
  options: Pick<SessionsOptions, 'sharedRoles' | 'takeOver' | 'clock'> & { readonly ttl: Duration },
): HibernatingSessions {
  demandObject(options)
  const { ttl, sharedRoles, takeOver, clock: given, ...others } = options
  refuseUnknown(others)
  const ttlMs = parseDuration('ttl', ttl)
  const { shared, takeOver: usual, clock } = settingsOf(locks, { sharedRoles, takeOver, clock: given })
  const found = rooms(locks)

  /** What an answer grants that was asked for at `askedMs`, even if the clock has been set back since. */
  const granted = (askedMs: number): Pick<KeptSession, 'trustedFromMs' | 'trustedUntilMs'> => {
    const trustedFromMs = Math.min(askedMs, clock.wallMs())
    return { trustedFromMs, trustedUntilMs: trustedFromMs + ttlMs - driftMs(ttlMs) }
  }
  const remaining = ({ trustedFromMs, trustedUntilMs }: KeptSession): number => {
    const nowMs = clock.wallMs()
    // After the clock was set back, nobody knows how long ago the store answered.
    return nowMs < trustedFromMs ? 0 : Math.max(0, trustedUntilMs - nowMs)
  }

  return {
    async enter({ resource, role, sessionId, userId, takeOver = usual, signal, ...rest }) {
      refuseUnknown(rest)
      const exclusive = !shared.has(role)
      const request = { room: resource, role, exclusive, userId, sessionId, takeOver, ttl: ttlMs, signal }
      const entered = await found.enter(request)
      if (!entered.entered) return { type: 'held', by: membersOf([entered.heldBy])[0] as Member }
      const askedMs = clock.wallMs()
      const { token, fence } = await detached(entered.lease, ttlMs)
      return { type: 'entered', session: { resource, role, sessionId, userId, fence, token, ...granted(askedMs) } }
    },
    async renew(kept) {
      const askedMs = clock.wallMs()
      // Those whose time is over are lost, whatever the store would say. The caller learns so without waiting for it.
      const asked = kept.filter(({ trustedUntilMs }) => trustedUntilMs > askedMs)
      const entries = asked.map(({ resource, token }) => ({ room: resource, token }))
      // All at once: if the store does not answer, one after the other would take a deadline each, and the last sessions
      // would be over long before the caller heard of any.
      const parts: Promise<readonly KeptOutcome[]>[] = []
      for (let from = 0; from < entries.length; from += chunkSize) {
        parts.push(found.renew(entries.slice(from, from + chunkSize), ttlMs))
      }
      const answers = (await Promise.all(parts)).flat()
      const outcomes = new Map(asked.map((session, at) => [session, answers[at]]))
      return kept.map((before): RenewedSession => {
        const outcome = outcomes.get(before)
        const session = outcome === 'renewed' ? { ...before, ...granted(askedMs) } : before
        const isLost = outcome === 'gone' || !(remaining(session) > 0)
        return { session, end: outcome === 'superseded' ? 'taken-over' : isLost ? 'lost' : undefined }
      })
    },
    remaining,
    async leave({ resource, token }) {
      await found.leave({ room: resource, token })
    },
    async verify(resource, role, userId) {
      return (await membersFound(found, { key: resource, role, userId })).length > 0
    },
    members: (resource) => membersFound(found, { key: resource }),
  }
}

/**
 * Detaches the lease, so that nothing here renews it. If that fails, the lease is released: the caller would have
 * nothing to end it with.
 */
async function detached(lease: Lease, ttl: Duration): Promise<DetachedLease> {
  try {
    return await detach(lease, { ttl })
  } catch (error) {
    await lease.release()
    throw error
  }
}
