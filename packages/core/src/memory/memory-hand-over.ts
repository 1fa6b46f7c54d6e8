import type { HandOverStore, ResumeOutcome, ResumeRequest } from '../store/hand-over.ts'
import { acquisitionIdOf, cursorOf, randomPart } from '../store/token.ts'
import type { LockKeeper } from './lock-keeper.ts'
import { heldBySeveral, notExclusive } from './queue/several-holders.ts'
import { answer } from './tables.ts'

/** Resumes leases of a memory store, following the Redis script step by step. */
export function memoryHandOver({ clock, tables, grant, extend }: LockKeeper): HandOverStore {
  const { locks, fences } = tables

  function resume({ key, token, fence, acquisitionId, ttlMs }: ResumeRequest): ResumeOutcome {
    const nowMs = clock.monotonicMs()
    if (heldBySeveral(tables, key, nowMs)) return notExclusive()
    const holder = locks.get(key, nowMs)
    if (holder && acquisitionIdOf(holder.value) === acquisitionId) {
      extend(key, ttlMs, nowMs)
      return granted(holder.value)
    }
    const last = fences.get(key, nowMs)?.value.random
    if (last === randomPart(acquisitionId)) return { type: 'spent' }
    if (holder?.value !== token) {
      const isLast = last === undefined || last === randomPart(acquisitionIdOf(token))
      return { type: holder || !isLast ? 'superseded' : 'gone' }
    }
    const leftMs = Math.max(ttlMs, holder.expiresAtMs === Infinity ? 0 : holder.expiresAtMs - nowMs)
    return granted(grant({ key, acquisitionId, ttlMs: leftMs }, fence, nowMs) as string)
  }

  const granted = (token: string): ResumeOutcome => ({ type: 'granted', token, fence: Number(cursorOf(token)) })

  return { resume: async (request, call) => answer(call, () => resume(request)) }
}
