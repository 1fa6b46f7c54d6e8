import type { LiveSession } from './session.ts'

/** The sessions of this server, indexed by session, room and user. Each lookup takes constant time. */
export class OwnSessions {
  readonly #all = new Set<LiveSession>()
  readonly #bySession = new Map<string, Set<LiveSession>>()
  readonly #byRoom = new Map<string, Set<LiveSession>>()
  readonly #byUser = new Map<string, Set<LiveSession>>()

  get size(): number {
    return this.#all.size
  }

  all(): readonly LiveSession[] {
    return [...this.#all]
  }

  of(sessionId: string): readonly LiveSession[] {
    return [...(this.#bySession.get(sessionId) ?? [])]
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
    addTo(this.#bySession, session.sessionId, session)
    addTo(this.#byRoom, session.resource, session)
    addTo(this.#byUser, roleKey(session), session)
  }

  delete(session: LiveSession): void {
    this.#all.delete(session)
    deleteFrom(this.#bySession, session.sessionId, session)
    deleteFrom(this.#byRoom, session.resource, session)
    deleteFrom(this.#byUser, roleKey(session), session)
  }
}

/** Roles and users have no line breaks, so no two triples share a key. */
const roleKey = ({ resource, role, userId }: Pick<LiveSession, 'resource' | 'role' | 'userId'>): string =>
  `${resource}\n${role}\n${userId}`

function addTo(map: Map<string, Set<LiveSession>>, key: string, session: LiveSession): void {
  const known = map.get(key)
  if (known) known.add(session)
  else map.set(key, new Set([session]))
}

function deleteFrom(map: Map<string, Set<LiveSession>>, key: string, session: LiveSession): void {
  const known = map.get(key)
  known?.delete(session)
  if (known?.size === 0) map.delete(key)
}
