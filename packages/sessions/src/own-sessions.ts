import type { EnterOptions } from './options.ts'
import type { LiveSession } from './session.ts'

/** What identifies a connection: the id of its session, among those of its user. */
export type Connection = Pick<EnterOptions, 'userId' | 'sessionId'>

/** The sessions of this server, indexed by connection, room and user. Each lookup takes constant time. */
export class OwnSessions {
  readonly #all = new Set<LiveSession>()
  readonly #byConnection = new Map<string, Set<LiveSession>>()
  readonly #byRoom = new Map<string, Set<LiveSession>>()
  readonly #byUser = new Map<string, Set<LiveSession>>()

  get size(): number {
    return this.#all.size
  }

  all(): readonly LiveSession[] {
    return [...this.#all]
  }

  /** The sessions of one connection of a user. Other users may have the same session id: clients choose theirs. */
  of(connection: Connection): readonly LiveSession[] {
    return [...(this.#byConnection.get(connectionKey(connection)) ?? [])]
  }

  in(resource: string): readonly LiveSession[] {
    return [...(this.#byRoom.get(resource) ?? [])]
  }

  /** Whether a user has a role here, by a session that is valid now. */
  has(resource: string, role: string, userId: string): boolean {
    for (const session of this.#byUser.get(roleKey({ resource, role, userId })) ?? []) if (session.isValid) return true
    return false
  }

  add(session: LiveSession): void {
    this.#all.add(session)
    for (const [map, key] of this.#places(session)) {
      const known = map.get(key)
      if (known) known.add(session)
      else map.set(key, new Set([session]))
    }
  }

  delete(session: LiveSession): void {
    this.#all.delete(session)
    for (const [map, key] of this.#places(session)) {
      const known = map.get(key)
      known?.delete(session)
      if (known?.size === 0) map.delete(key)
    }
  }

  #places(session: LiveSession): readonly (readonly [Map<string, Set<LiveSession>>, string])[] {
    return [
      [this.#byConnection, connectionKey(session)],
      [this.#byRoom, session.resource],
      [this.#byUser, roleKey(session)],
    ]
  }
}

/** Users have no line breaks, so no two pairs share a key. */
const connectionKey = ({ userId, sessionId }: Connection): string => `${userId}\n${sessionId}`

/** Roles and users have no line breaks, so no two triples share a key. */
const roleKey = ({ resource, role, userId }: Pick<LiveSession, 'resource' | 'role' | 'userId'>): string =>
  `${resource}\n${role}\n${userId}`
