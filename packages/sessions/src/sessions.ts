import { LeaseholdError, type Locker, type LossReason } from '@leasehold/core'
import { demandObject, refuseUnknown } from '@leasehold/core/adapter'
import { type Rooms, rooms } from '@leasehold/core/presence'
import { displaces, type Entrant, type Entry } from './displaced.ts'
import { Entrance } from './entrance.ts'
import type { SessionEvent } from './events.ts'
import { Heartbeat } from './heartbeat.ts'
import { type Member, membersFound, membersOf } from './members.ts'
import { type EnterOptions, type SessionsOptions, type Settings, settingsOf } from './options.ts'
import { type Connection, OwnSessions } from './own-sessions.ts'
import type { RoomEvent } from './room-events.ts'
import { RoomWatch } from './room-watch.ts'
import { type Keeper, LiveSession, type Session, type SessionEnd } from './session.ts'
import { Sockets } from './socket.ts'

/**
 * `held` is contention: another user has the role. An entered session may have ended by the time of the answer, if
 * another displaced it.
 */
export type Entered =
  | { readonly type: 'entered'; readonly session: Session }
  | { readonly type: 'held'; readonly by: Member }

/** The sessions of one server, with queries about those of all servers; made by {@link sessions}. */
export interface Sessions extends AsyncDisposable {
  /** How many sessions this server has. */
  readonly size: number
  /**
   * Lets a session into a role of a resource. The same session may enter again: on a new connection, or for another
   * role. It then gets the new place instead of the old one, in one step; if refused, it keeps the old one.
   *
   * @throws StoreUnavailableError when the store did not answer
   * @throws InvalidOptionError for a bad option, or a resource with 10,000 sessions, or 30,000 with those that left or
   *   were displaced within their ttl
   * @throws LeaseholdError with code `CLOSED` once the sessions or their locker are closed
   * @throws the signal's own reason when `signal` is aborted
   */
  enter(options: EnterOptions): Promise<Entered>
  /**
   * Ends every session of this server that this user has under this id *now*. Another user's session with the same id
   * is left alone. When a socket closes, call `leave` of the session you got for it instead.
   *
   * @throws InvalidOptionError for what is not an object, such as the id alone
   */
  leave(connection: Connection): Promise<void>
  /**
   * Records a sign of life from the client that has this user's sessions under this id.
   *
   * @throws InvalidOptionError for what is not an object, such as the id alone
   */
  seen(connection: Connection): void
  /**
   * Whether a user has a role. A valid session of this server answers without the store; if there is none, it takes one
   * read of the store.
   *
   * @throws StoreUnavailableError when the store did not answer
   */
  verify(resource: string, role: string, userId: string): Promise<boolean>
  /** Who has an exclusive role, with one read of the store. */
  holderOf(resource: string, role: string): Promise<Member | null>
  /** Who is there, on all servers, in the order in which they entered; with one read of the store. */
  members(resource: string): Promise<readonly Member[]>
  /**
   * Reports who comes and goes, on all servers: at once if the locker has a notifier, otherwise within `recheck`. A
   * session of this server that was displaced learns of it equally soon; in a room without watchers, it does so with
   * its next renewal. Returns a function that ends the watch.
   */
  watch(resource: string, listener: (event: RoomEvent) => void): () => void
  /**
   * Ends all sessions of this server, so that others see them leave now, not when their entries expire. The locker
   * stays open.
   */
  close(): Promise<void>
}

/**
 * The sessions of a server: each WebSocket connection has a role of a resource, and an exclusive role has one user at a time, across all
 * servers.
 *
 * @example
 * ```ts
 * const registry = sessions(locks, { sharedRoles: ['reader'] })
 * const entered = await registry.enter({ resource: 'doc:7', role: 'writer', sessionId: 'tab-1', userId: 'ada' })
 * if (entered.type === 'held') console.log(`${entered.by.userId} is writing`)
 * ```
 *
 * @throws InvalidOptionError for a bad option, or a locker whose store has no rooms
 */
export function sessions(locks: Locker, options: SessionsOptions = {}): Sessions {
  return new SessionRegistry(settingsOf(locks, options), rooms(locks))
}

class SessionRegistry implements Sessions {
  readonly #settings: Settings
  readonly #rooms: Rooms
  readonly #own = new OwnSessions()
  readonly #sockets = new Sockets()
  readonly #heartbeat: Heartbeat
  readonly #entrance: Entrance
  readonly #watch: RoomWatch
  readonly #keeper: Keeper
  /** Calls of `enter` in flight. */
  readonly #entering = new Set<Promise<unknown>>()
  /** Entrants whose requests were sent, each with the sessions let in since that displace it. */
  readonly #sent = new Map<Entrant, Entry[]>()
  #closing: Promise<void> | undefined

  constructor(settings: Settings, found: Rooms) {
    this.#settings = settings
    this.#rooms = found
    this.#heartbeat = new Heartbeat(settings.clock, settings.silenceMs, this.#own, () => this.#sockets.ping())
    this.#entrance = new Entrance(settings.clock)
    this.#watch = new RoomWatch(settings, found, this.#own)
    this.#keeper = {
      silenceMs: settings.silenceMs,
      now: () => settings.clock.monotonicMs(),
      onEnd: (session, end, reason) => this.#onEnd(session, end, reason),
    }
  }

  get size(): number {
    return this.#own.size
  }

  async enter(options: EnterOptions): Promise<Entered> {
    this.#assertOpen()
    const entering = this.#enter(options)
    const settled = entering.catch(() => undefined)
    this.#entering.add(settled)
    try {
      return await entering
    } finally {
      this.#entering.delete(settled)
    }
  }

  async leave(connection: Connection): Promise<void> {
    demandObject(connection)
    await Promise.all(this.#own.of(connection).map((session) => session.leave()))
  }

  seen(connection: Connection): void {
    demandObject(connection)
    for (const session of this.#own.of(connection)) session.seen()
  }

  async verify(resource: string, role: string, userId: string): Promise<boolean> {
    if (this.#own.has(resource, role, userId)) return true
    return (await membersFound(this.#rooms, { key: resource, role, userId })).length > 0
  }

  async holderOf(resource: string, role: string): Promise<Member | null> {
    return (await membersFound(this.#rooms, { key: resource, role }))[0] ?? null
  }

  members(resource: string): Promise<readonly Member[]> {
    return membersFound(this.#rooms, { key: resource })
  }

  watch(resource: string, listener: (event: RoomEvent) => void): () => void {
    this.#assertOpen()
    return this.#watch.watch(resource, listener)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #enter(options: EnterOptions): Promise<Entered> {
    demandObject(options)
    const { resource, role, sessionId, userId, takeOver = this.#settings.takeOver, socket, signal, ...rest } = options
    refuseUnknown(rest)
    const exclusive = !this.#settings.shared.has(role)
    const entrant: Entrant = { resource, role, sessionId, userId, exclusive, takeOver }
    const { ttlMs } = this.#settings
    const request = { room: resource, role, exclusive, userId, sessionId, takeOver, ttl: ttlMs, signal }
    if (socket) this.#sockets.hold(socket)
    try {
      const send = () => {
        this.#sent.set(entrant, [])
        return this.#rooms.enter(request)
      }
      const entered = await this.#entrance.pass(send, signal)
      if (!entered.entered) return { type: 'held', by: membersOf([entered.heldBy])[0] as Member }
      const session = new LiveSession(entrant, entered.lease, this.#keeper)
      this.#own.add(session)
      this.#settings.tell({ type: 'entered', session })
      session.begin()
      if (socket) this.#sockets.attach(socket, session)
      this.#settleDisplaced(session, this.#sent.get(entrant) ?? [])
      if (this.#closing !== undefined) {
        await session.leave()
        this.#assertOpen()
      }
      this.#heartbeat.start()
      return { type: 'entered', session }
    } finally {
      this.#sent.delete(entrant)
      if (socket) this.#sockets.letGo(socket)
    }
  }

  /**
   * Ends what the store has displaced, as far as this server knows: sessions that this one displaced need not wait for
   * their renewal to learn of it. This one is itself displaced if the answer to a later enter arrived first, even if
   * that session has left again.
   */
  #settleDisplaced(session: LiveSession, since: readonly Entry[]): void {
    const { resource, exclusive, fence } = session
    for (const [entrant, later] of this.#sent) {
      if (entrant.resource === resource && displaces(session, entrant)) later.push(session)
    }
    const others = (exclusive ? this.#own.in(resource) : this.#own.of(session)).filter(
      (other) => other.resource === resource,
    )
    for (const other of others) {
      if (other.fence < fence && displaces(session, other)) other.finish('taken-over')
    }
    const isDisplaced = [...others, ...since, ...this.#watch.seen(session)].some(
      (other) => other.fence > fence && displaces(other, session),
    )
    if (isDisplaced) session.finish('taken-over')
  }

  #onEnd(session: LiveSession, end: SessionEnd, reason: LossReason | undefined): void {
    this.#own.delete(session)
    this.#sockets.onEnd(session)
    const event: SessionEvent =
      end === 'lost' ? { type: end, session, reason: reason ?? 'expired' } : { type: end, session }
    this.#settings.tell(event)
    if (this.#own.size === 0) this.#heartbeat.stop()
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw closedError()
  }

  async #close(): Promise<void> {
    this.#watch.close()
    this.#entrance.close(closedError())
    await Promise.all([...this.#own.all().map((session) => session.leave()), ...this.#entering])
  }
}

const closedError = (): LeaseholdError => new LeaseholdError('CLOSED', 'The sessions were closed; make new ones')
