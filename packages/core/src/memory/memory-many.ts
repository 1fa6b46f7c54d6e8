import type { AcquireAllOutcome, AcquireAllRequest, ManyStore } from '../store/many.ts'
import { elderAfterMs, elderComesMs, elderKeptMs } from '../store/many-figures.ts'
import { acquisitionIdOf, cursorOf, parseToken, randomPart } from '../store/token.ts'
import type { LockKeeper } from './lock-keeper.ts'
import { heldBySeveral, notExclusive } from './queue/several-holders.ts'
import { answer, present } from './tables.ts'

/** Acquires several locks of a memory store at once, following the Redis script step by step. */
export function memoryMany({ clock, tables, grant, extend }: LockKeeper): ManyStore {
  function acquireAll({ locks, ttlMs, waitedMs }: AcquireAllRequest): AcquireAllOutcome {
    const nowMs = clock.monotonicMs()
    const shared = locks.findIndex(({ key }) => heldBySeveral(tables, key, nowMs))
    if (shared >= 0) return { ...notExclusive(), at: shared }
    const holders = locks.map(({ key }) => tables.locks.get(key, nowMs))
    const isMine = locks.map(({ acquisitionId }, at) => acquisitionIdOf(holders[at]?.value ?? '') === acquisitionId)
    if (isMine.every(Boolean)) {
      for (const { key } of locks) extend(key, ttlMs, nowMs)
      return granted(holders.map((holder) => holder?.value as string))
    }
    const wasMine = ({ key, acquisitionId }: AcquireAllRequest['locks'][number]): boolean =>
      tables.fences.get(key, nowMs)?.value.random === randomPart(acquisitionId)
    if (isMine.some(Boolean) || locks.some(wasMine)) return { type: 'spent' }
    const sinceMs = nowMs - waitedMs
    const elders = locks.map(({ key }) => tables.elders.get(key, nowMs)?.value)
    const isOurs = locks.map(({ acquisitionId }, at) => elders[at]?.acquisitionId === acquisitionId)
    const before = elders.map((elder, at) => (elder && !isOurs[at] ? sinceMs - elder.sinceMs : -1))
    const heldAt = holders.findIndex((holder) => holder !== undefined)
    const leftAt = before.findIndex((ms) => ms > elderAfterMs)
    const at = heldAt < 0 ? leftAt : heldAt
    const isElder = waitedMs >= elderAfterMs && before.every((ms) => ms < 0)
    for (const [place, { key, acquisitionId }] of locks.entries()) {
      const goesOn = isElder && at >= 0 && ttlMs > 0
      if (goesOn) tables.elders.set(key, { sinceMs, acquisitionId }, nowMs + elderKeptMs, nowMs)
      else if (isOurs[place]) tables.elders.delete(key)
    }
    if (ttlMs === 0) return { type: 'spent' }
    const holder = holders[at]
    if (holder)
      return { type: 'held', at, ...present(holder, nowMs), holder: parseToken(holder.value)?.name ?? null, isElder }
    if (at >= 0) return { type: 'held', at, expiresInMs: elderComesMs, cursor: '-', holder: null, isElder }
    return granted(locks.map((lock) => grant({ ...lock, ttlMs }, 0, nowMs) as string))
  }

  const granted = (tokens: readonly string[]): AcquireAllOutcome => ({
    type: 'granted',
    grants: tokens.map((token) => ({ token, fence: Number(cursorOf(token)) })),
  })

  return { groupsOf: (keys) => [keys], acquireAll: async (request, call) => answer(call, () => acquireAll(request)) }
}
