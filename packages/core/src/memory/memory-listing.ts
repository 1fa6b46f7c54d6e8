import type { ListedLock, ListingStore, ReadOutcome } from '../store/listing.ts'
import { shownHolder } from '../store/shown-holder.ts'
import type { LockKeeper } from './lock-keeper.ts'
import { answer } from './tables.ts'

/** Lists the locks of a memory store. All of them are at hand, so one call names them all. */
export function memoryListing({ clock, tables }: LockKeeper, listeners: (key: string) => number): ListingStore {
  function read(key: string): ReadOutcome {
    const nowMs = clock.monotonicMs()
    const entry = tables.locks.get(key, nowMs)
    const queue = tables.queues.get(key, nowMs)?.value
    const several = [...(queue?.holders.values() ?? [])].filter(({ expiresAtMs }) => expiresAtMs > nowMs)
    const waiting = queue?.length ?? 0
    const holders = entry ? [{ token: entry.value, expiresAtMs: entry.expiresAtMs }] : several
    if (holders.length === 0 && waiting === 0) return { type: 'none' }
    const { name, capacity } = entry || !queue ? exclusive : queue.kind
    const lastMs = Math.max(...holders.map(({ expiresAtMs }) => expiresAtMs))
    const shown = shownHolder((holders.length === 1 && holders[0]?.token) || '')
    const lock: ListedLock = {
      ...{ key, kind: name, capacity, waiting, listeners: listeners(key), ...shown },
      holders: shown.isKept ? 0 : holders.length,
      expiresInMs: Number.isFinite(lastMs) ? Math.ceil(lastMs - nowMs) : null,
    }
    return { type: 'lock', lock }
  }
  return {
    find: async (_pattern, _from, call) =>
      answer(call, () => {
        const keys = [...new Set([...tables.locks.keys(), ...tables.queues.keys()])]
        return { type: 'found', keys, next: undefined }
      }),
    read: async (keys, call) => keys.map((key) => answer(call, () => read(key))),
  }
}

const exclusive = { name: 'exclusive', capacity: 1 } as const
