import type { EnterRequest, RoomEntry } from '../store/presence.ts'
import { mostEntries, mostKnown } from '../store/presence-limits.ts'
import { parseToken, randomPart } from '../store/token.ts'

/** An entry of a room. One that leaves or is displaced is marked, and stays until it would have expired. */
export interface Entry extends Entrant {
  readonly acquisitionId: string
  readonly fence: number
  readonly sinceMs: number
  state: 'in' | 'left' | 'taken'
  /** When the entry expires, in milliseconds of the monotonic clock. */
  till: number
}

type Entrant = Pick<EnterRequest, 'role' | 'exclusive' | 'userId' | 'sessionId' | 'takeOver'>

/** The rules of a room. They are the model for the scripts. */
export class MemoryRoom {
  /** By the random part of the acquisition id, oldest first. */
  readonly #entries = new Map<string, Entry>()
  /** The same entries, by user. */
  readonly #byUser = new Map<string, Set<Entry>>()
  #lastChange = 0
  #lastTill = 0

  /** The entry of this acquisition, unless it has expired. */
  entry(random: string, nowMs: number): Entry | undefined {
    const entry = this.#entries.get(random)
    return entry && entry.till > nowMs ? entry : undefined
  }

  present(nowMs: number): readonly Entry[] {
    return Array.from(this.#entries.values()).filter(isPresent(nowMs))
  }

  /** An entry of another user with the exclusive role that this entrant wants and may not take over. */
  holderFor({ role, exclusive, userId, takeOver }: Entrant, nowMs: number): Entry | undefined {
    if (!exclusive || takeOver === 'anyone') return undefined
    return this.#holders(role, nowMs).find((entry) => entry.userId !== userId)
  }

  /** The entries that this entrant displaces: those it may take over, and the earlier entry of its session. */
  displacedBy({ role, exclusive, userId, sessionId, takeOver }: Entrant, nowMs: number): ReadonlySet<Entry> {
    const others = exclusive && takeOver !== 'nobody' ? this.#holders(role, nowMs) : []
    const earlier = this.#of(userId, nowMs).filter((entry) => entry.sessionId === sessionId)
    return new Set([...others, ...earlier])
  }

  /** Whether the room has no place for an entrant who displaces so many. */
  isFull(displaced: number, nowMs: number): boolean {
    if (this.#entries.size < mostEntries) return false
    return this.#entries.size >= mostKnown || this.present(nowMs).length - displaced >= mostEntries
  }

  put(entry: Entry): void {
    this.#entries.set(randomPart(entry.acquisitionId), entry)
    const own = this.#byUser.get(entry.userId) ?? new Set()
    this.#byUser.set(entry.userId, own.add(entry))
  }

  /** Drops expired entries. */
  drop(nowMs: number): void {
    for (const [random, entry] of this.#entries) {
      if (entry.till > nowMs) continue
      this.#entries.delete(random)
      const own = this.#byUser.get(entry.userId)
      own?.delete(entry)
      if (own?.size === 0) this.#byUser.delete(entry.userId)
    }
  }

  change(wallMs: number): number {
    this.#lastChange = Math.max(this.#lastChange + 1, Math.floor(wallMs * 1_000))
    return this.#lastChange
  }

  version(nowMs: number): string {
    let alive = 0
    for (const entry of this.#entries.values()) if (entry.till > nowMs) alive++
    return `${this.#lastChange}.${alive}`
  }

  /** Extends an entry, and never shortens it. */
  extend(entry: Entry, till: number): void {
    entry.till = Math.max(entry.till, till)
    this.#lastTill = Math.max(this.#lastTill, till)
  }

  /** The latest time at which an entry expires, in milliseconds of the monotonic clock. */
  get lastTill(): number {
    return this.#lastTill
  }

  /** The entries of the user who has this exclusive role. */
  #holders(role: string, nowMs: number): readonly Entry[] {
    return this.present(nowMs).filter((entry) => entry.exclusive && entry.role === role)
  }

  #of(userId: string, nowMs: number): readonly Entry[] {
    return Array.from(this.#byUser.get(userId) ?? []).filter(isPresent(nowMs))
  }
}

const isPresent =
  (nowMs: number) =>
  ({ state, till }: Entry): boolean =>
    state === 'in' && till > nowMs

/** An entry as others see it. */
export const shown = (entry: Entry, nowMs: number): RoomEntry => ({
  userId: entry.userId,
  sessionId: entry.sessionId,
  role: entry.role,
  exclusive: entry.exclusive,
  fence: entry.fence,
  server: parseToken(`${entry.acquisitionId}.0`)?.name ?? null,
  since: new Date(entry.sinceMs),
  expiresInMs: Math.ceil(entry.till - nowMs),
})
