import type { RoomEntry, Rooms, RoomView } from '@leasehold/core/presence'
import type { Entrant } from './displaced.ts'
import { leastPauseMs } from './figures.ts'
import { type Member, membersOf } from './members.ts'
import { listenerOf, type Settings } from './options.ts'
import type { OwnSessions } from './own-sessions.ts'
import { changesBetween, type RoomEvent } from './room-events.ts'
import type { LiveSession } from './session.ts'

/** A watched room, and what is known about it. */
interface Watched {
  readonly listeners: Set<(event: RoomEvent) => void>
  readonly stopHints: () => void
  /** Undefined until the first look is answered. */
  members: readonly Member[] | undefined
  version: string | undefined
  /** Why the members are unknown; undefined while the store answers. */
  unreachable: { readonly cause: unknown } | undefined
  /** Something may have changed since the last look began. */
  isHinted: boolean
}

/**
 * Reports who comes and goes in the watched rooms. It reads all of them together: each time a change is announced in
 * one, and periodically, since the expiry of an entry is not announced.
 */
export class RoomWatch {
  readonly #settings: Settings
  readonly #rooms: Rooms
  readonly #own: OwnSessions
  readonly #watched = new Map<string, Watched>()
  #isLooking = false
  /** When it looks next, by the monotonic clock; Infinity if no look is planned. */
  #nextMs = Infinity
  #cancel: (() => void) | undefined
  #isOver = false

  constructor(settings: Settings, rooms: Rooms, own: OwnSessions) {
    this.#settings = settings
    this.#rooms = rooms
    this.#own = own
  }

  /** Starts to report a room to a listener; returns a function that stops this. */
  watch(resource: string, onEvent: (event: RoomEvent) => void): () => void {
    const listener = listenerOf(onEvent)
    const room = this.#watched.get(resource) ?? this.#open(resource)
    room.listeners.add(listener)
    // A listener that is not the first is given at once what is known, or that nothing is.
    if (room.unreachable) listener({ type: 'unreachable', ...room.unreachable })
    else if (room.members) listener({ type: 'present', members: room.members })
    return () => {
      room.listeners.delete(listener)
      if (room.listeners.size === 0 && this.#watched.get(resource) === room) this.#close(resource, room)
    }
  }

  /** The entries last seen in a room, if it is watched: those of the user, or of the exclusive role. */
  seen({ resource, userId, role, exclusive }: Entrant): readonly RoomEntry[] {
    const members = this.#watched.get(resource)?.members ?? []
    const found = members.filter((member) => member.userId === userId || (exclusive && member.roles.includes(role)))
    return found.flatMap(({ sessions }) => sessions)
  }

  close(): void {
    this.#isOver = true
    this.#cancel?.()
    for (const [resource, room] of this.#watched) this.#close(resource, room)
  }

  #open(resource: string): Watched {
    const room: Watched = {
      listeners: new Set(),
      stopHints: this.#rooms.onHint(resource, () => this.#hint(resource)),
      members: undefined,
      version: undefined,
      unreachable: undefined,
      isHinted: true,
    }
    this.#watched.set(resource, room)
    this.#plan(0)
    return room
  }

  #close(resource: string, room: Watched): void {
    room.stopHints()
    // A look may be under way.
    room.listeners.clear()
    this.#watched.delete(resource)
  }

  #hint(resource: string): void {
    const room = this.#watched.get(resource)
    if (!room) return
    room.isHinted = true
    if (!this.#isLooking) this.#plan(leastPauseMs)
  }

  /** Has a look begin after that time at the latest. */
  #plan(delayMs: number): void {
    if (this.#isLooking || this.#isOver) return
    const { clock } = this.#settings
    const atMs = clock.monotonicMs() + delayMs
    if (atMs >= this.#nextMs) return
    this.#cancel?.()
    this.#nextMs = atMs
    this.#cancel = clock.schedule(() => void this.#look(), delayMs, 'background')
  }

  async #look(): Promise<void> {
    const { clock, recheckMs } = this.#settings
    this.#isLooking = true
    this.#nextMs = Infinity
    const sinceMs = clock.monotonicMs()
    const rooms = [...this.#watched]
    for (const [, room] of rooms) room.isHinted = false
    // A session that enters while the look is under way may be missing from its answer, unless a later one is in it.
    const before = new Map(rooms.map(([resource]) => [resource, new Set(this.#own.in(resource))]))
    try {
      const views = await this.#rooms.look(rooms.map(([key, { version }]) => ({ key, version })))
      for (const [at, [resource, room]] of rooms.entries()) {
        const view = views[at] ?? null
        if (view instanceof Error) this.#lose(room, view)
        else this.#take(room, view)
        if (view && 'entries' in view) this.#checkOwn(view.entries, resource, before.get(resource))
      }
    } catch (cause) {
      for (const [, room] of rooms) this.#lose(room, cause)
    }
    this.#isLooking = false
    if (this.#watched.size === 0) return
    const tookMs = clock.monotonicMs() - sinceMs
    const isHinted = [...this.#watched.values()].some((room) => room.isHinted)
    this.#plan(Math.max(isHinted ? 0 : recheckMs, tookMs, leastPauseMs))
  }

  #take(room: Watched, view: RoomView): void {
    const before = room.members
    const members = view ? membersOf(view.entries) : (before ?? [])
    room.version = view?.version ?? room.version
    room.members = members
    const events = before ? [...changesBetween(before, members)] : []
    if (!before || room.unreachable) events.push({ type: 'present', members })
    room.unreachable = undefined
    for (const event of events) for (const listener of room.listeners) listener(event)
  }

  /**
   * The store has listed all who are there. A session of this server that is missing asks at once what became of it.
   */
  #checkOwn(entries: readonly RoomEntry[], resource: string, before: ReadonlySet<LiveSession> | undefined): void {
    const fences = new Set(entries.map(({ fence }) => fence))
    const highest = Math.max(...fences)
    for (const session of this.#own.in(resource)) {
      const isMissing = !fences.has(session.fence) && (before?.has(session) || session.fence < highest)
      if (isMissing) session.check(this.#settings.ttlMs)
    }
  }

  #lose(room: Watched, cause: unknown): void {
    if (room.unreachable) return
    room.unreachable = { cause }
    for (const listener of room.listeners) listener({ type: 'unreachable', cause })
  }
}
