import type { ReleaseOutcome, RenewOutcome } from '../store/lease-store.ts'
import type {
  EnterOutcome,
  EnterRequest,
  EntryRequest,
  LeaveRoomRequest,
  LookRoomOutcome,
  LookRoomRequest,
  PresenceStore,
} from '../store/presence.ts'
import { fullRoom } from '../store/presence-limits.ts'
import { acquisitionIdOf, cursorOf, randomPart } from '../store/token.ts'
import type { LockKeeper } from './lock-keeper.ts'
import { type Entry, MemoryRoom, shown } from './memory-room.ts'
import { answer } from './tables.ts'

/** The rooms of a memory store, following the Redis scripts step by step. */
export function memoryPresence({ clock, tables, announce }: LockKeeper): PresenceStore {
  const { rooms } = tables
  const read = (key: string, nowMs: number): MemoryRoom => rooms.get(key, nowMs)?.value ?? new MemoryRoom()

  function keep(key: string, room: MemoryRoom, nowMs: number): void {
    rooms.set(key, room, room.lastTill, nowMs)
  }

  function enter({ key, acquisitionId, ttlMs, ...entrant }: EnterRequest): EnterOutcome {
    const nowMs = clock.monotonicMs()
    const room = read(key, nowMs)
    room.drop(nowMs)
    const mine = room.entry(randomPart(acquisitionId), nowMs)
    if (mine && mine.state !== 'in') return { type: 'spent' }
    if (!mine) {
      const by = room.holderFor(entrant, nowMs)
      if (by) return { type: 'held', by: shown(by, nowMs) }
      const displaced = room.displacedBy(entrant, nowMs)
      if (room.isFull(displaced.size, nowMs)) return fullRoom()
      for (const entry of displaced) entry.state = 'taken'
    }
    const fence = mine?.fence ?? room.change(clock.wallMs())
    const entry: Entry = mine ?? { ...entrant, acquisitionId, fence, state: 'in', sinceMs: clock.wallMs(), till: 0 }
    room.extend(entry, nowMs + ttlMs)
    room.put(entry)
    keep(key, room, nowMs)
    if (!mine) announce(key, 'room')
    return { type: 'granted', token: `${acquisitionId}.${fence}`, fence }
  }

  function renew({ key, token, ttlMs }: EntryRequest): RenewOutcome {
    const nowMs = clock.monotonicMs()
    const room = read(key, nowMs)
    const entry = room.entry(randomPart(acquisitionIdOf(token)), nowMs)
    if (!entry || String(entry.fence) !== cursorOf(token) || entry.state === 'left') return { type: 'gone' }
    if (entry.state === 'taken') return { type: 'superseded' }
    room.extend(entry, nowMs + ttlMs)
    keep(key, room, nowMs)
    return { type: 'renewed' }
  }

  function leave(request: LeaveRoomRequest): ReleaseOutcome {
    const { key } = request
    const nowMs = clock.monotonicMs()
    const room = read(key, nowMs)
    const isWhole = 'token' in request
    const id = isWhole ? acquisitionIdOf(request.token) : request.acquisitionId
    const entry = room.entry(randomPart(id), nowMs)
    if (!entry || (isWhole && String(entry.fence) !== cursorOf(request.token))) return { type: 'gone', resent: false }
    if (entry.state === 'left') return { type: 'released', announced: true, subscribers: null }
    if (entry.state === 'taken') return { type: 'superseded', resent: false }
    entry.state = 'left'
    room.change(clock.wallMs())
    return { type: 'released', announced: true, subscribers: announce(key, 'room') }
  }

  function look({ key, version, role, userId }: LookRoomRequest): LookRoomOutcome {
    const nowMs = clock.monotonicMs()
    const room = read(key, nowMs)
    const present = room.version(nowMs)
    if (present === version) return { type: 'same' }
    const entries = room.present(nowMs).filter((entry) => {
      if (role !== undefined && entry.role !== role) return false
      return userId === undefined ? role === undefined || entry.exclusive : entry.userId === userId
    })
    return { type: 'room', version: present, entries: entries.map((entry) => shown(entry, nowMs)) }
  }

  return {
    enter: async (request, call) => answer(call, () => enter(request)),
    renew: async (requests, call) => requests.map((request) => answer(call, () => renew(request))),
    leave: async (requests, call) => requests.map((request) => answer(call, () => leave(request))),
    look: async (requests, call) => requests.map((request) => answer(call, () => look(request))),
  }
}
