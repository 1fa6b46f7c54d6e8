import { type Duration, type Lease, type Locker, parseDuration } from '@leasehold/core'
import { demandObject, refuseUnknown } from '@leasehold/core/adapter'
import { type DetachedLease, detach } from '@leasehold/core/hand-over'
import { rooms } from '@leasehold/core/presence'
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
   * Renews sessions, in one round trip for each hundred, and returns those that are no longer there. Leave out those
   * whose clients have been silent. A session whose renewal got no answer counts as kept until its ttl is over: renew
   * at least three times within the ttl.
   */
  renew(kept: readonly KeptSession[]): Promise<readonly LostSession[]>
  /** Ends a session. One that was displaced stays displaced: the end of an old socket affects only its own session. */
  leave(kept: KeptSession): Promise<void>
  verify(resource: string, role: string, userId: string): Promise<boolean>
  members(resource: string): Promise<readonly Member[]>
}

/** A session that has ended: by its ttl, or because another took its place. */
export interface LostSession {
  readonly session: KeptSession
  readonly end: 'taken-over' | 'lost'
}

/**
 * Sessions without memory and without timers, for objects that hibernate. Keep each session beside its socket, and renew them from an
 * alarm. Alarms may be a minute late, so give a `ttl` of two minutes and set the alarm every 30 s.
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
  options: Pick<SessionsOptions, 'sharedRoles' | 'takeOver'> & { readonly ttl: Duration },
): HibernatingSessions {
  demandObject(options)
  const { sharedRoles, takeOver, ttl: given, ...others } = options
  refuseUnknown(others)
  const ttl = parseDuration('ttl', given)
  const { shared, takeOver: usual } = settingsOf(locks, { sharedRoles, takeOver })
  const found = rooms(locks)

  return {
    async enter({ resource, role, sessionId, userId, takeOver = usual, signal, ...rest }) {
      refuseUnknown(rest)
      const exclusive = !shared.has(role)
      const entered = await found.enter({ room: resource, role, exclusive, userId, sessionId, takeOver, ttl, signal })
      if (!entered.entered) return { type: 'held', by: membersOf([entered.heldBy])[0] as Member }
      const { token, fence } = await detached(entered.lease, ttl)
      return { type: 'entered', session: { resource, role, sessionId, userId, fence, token } }
    },
    async renew(kept) {
      const entries = kept.map(({ resource, token }) => ({ room: resource, token }))
      const outcomes = await found.renew(entries, ttl)
      return kept.flatMap((session, at): readonly LostSession[] => {
        if (outcomes[at] === 'superseded') return [{ session, end: 'taken-over' }]
        return outcomes[at] === 'gone' ? [{ session, end: 'lost' }] : []
      })
    },
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
