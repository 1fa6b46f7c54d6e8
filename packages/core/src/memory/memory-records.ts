import type { Refused, Unknown } from '../store/lease-store.ts'
import { checkFingerprint, checkResult } from '../store/record-limits.ts'
import type {
  AbandonOutcome,
  AbandonRequest,
  ClaimOutcome,
  ClaimRequest,
  CompleteOutcome,
  CompleteRequest,
  HolderSeen,
  NotMine,
  ReadOutcome,
  RecordStore,
  StoredRecord,
} from '../store/records.ts'
import { acquisitionIdOf, fenceOf, parseToken, randomPart } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { LockKeeper } from './lock-keeper.ts'
import { heldBySeveral, notExclusive } from './queue/several-holders.ts'
import { answer, present, type RunRecord } from './tables.ts'

/** The records of a memory store, following the Redis scripts step by step. */
export function memoryRecords({ clock, tables, grant, extend, free }: LockKeeper): RecordStore {
  const { locks, fences, records } = tables

  function claim({ fingerprint, ...request }: ClaimRequest): ClaimOutcome {
    const { key, acquisitionId, ttlMs, keepMs, rerun } = request
    const nowMs = clock.monotonicMs()
    if (heldBySeveral(tables, key, nowMs)) return notExclusive()
    const holder = locks.get(key, nowMs)
    const stored = records.get(key, nowMs)?.value
    const isMine = (token: string | undefined): boolean => acquisitionIdOf(token ?? '') === acquisitionId
    const claimed = ({ token, before: [former] = [] }: Pick<RunRecord, 'token' | 'before'>): ClaimOutcome => ({
      type: 'claimed',
      token,
      fence: fenceOf(token),
      overtook: former === undefined ? undefined : fenceOf(former),
    })
    const run = (token: string, before?: readonly string[]): ClaimOutcome => {
      const record: RunRecord = { state: 'running', token, fingerprint, before }
      const expiresAtMs = Math.max(nowMs + keepMs, records.get(key, nowMs)?.expiresAtMs ?? 0)
      records.set(key, record, expiresAtMs, nowMs)
      return claimed(record)
    }

    if (stored ? stored.state === 'running' && isMine(stored.token) : isMine(holder?.value)) {
      if (!holder || (stored && stored.token !== holder.value)) return { type: 'spent' }
      extend(key, ttlMs, nowMs)
      if (!stored) return run(holder.value)
      records.extend(key, nowMs + keepMs, nowMs)
      return claimed(stored)
    }
    if (stored && stored.fingerprint !== fingerprint) return { type: 'mismatch' }
    if (stored && stored.state !== 'running') return { type: 'done', record: recordSeen(key, stored, nowMs) }
    if (holder) return { type: 'busy', ...lockSeen(key, nowMs) } as ClaimOutcome
    if (stored && !rerun) return { type: 'in-doubt', record: recordSeen(key, stored, nowMs) }

    const token = grant(request, stored ? fenceOf(stored.token) : 0, nowMs)
    if (token === undefined) return { type: 'spent' }
    // The runs in between are left out, because a chain of reruns may be long.
    return run(token, stored && [stored.token, ...(stored.before?.slice(-1) ?? [])])
  }

  function complete({ key, token, fingerprint, result, keepMs }: CompleteRequest): CompleteOutcome {
    const nowMs = clock.monotonicMs()
    const stored = records.get(key, nowMs)?.value
    const hasLock = locks.get(key, nowMs)?.value === token
    if (stored?.token === token && stored.state !== 'running') return { type: 'completed', ...nobodyTold }
    if (stored ? stored.token !== token : !hasLock) return notMine(key, stored, nowMs)
    const state = result ? 'done' : 'too-large'
    // A copy, because the caller may go on writing into its own buffer.
    records.set(key, { state, token, fingerprint, result: result?.slice() }, nowMs + keepMs, nowMs)
    return { type: 'completed', ...nobodyTold, ...(hasLock && { subscribers: free(key, token, nowMs) }) }
  }

  function abandon(request: AbandonRequest): AbandonOutcome {
    const { key } = request
    const nowMs = clock.monotonicMs()
    const holder = locks.get(key, nowMs)?.value
    const stored = records.get(key, nowMs)?.value
    const isMine = (token: string | undefined): boolean =>
      token !== undefined &&
      ('token' in request ? token === request.token : acquisitionIdOf(token) === request.acquisitionId)
    const claimed = randomPart('token' in request ? acquisitionIdOf(request.token) : request.acquisitionId)
    const last = fences.get(key, nowMs)?.value

    const hasRecord = isMine(stored?.token)
    if (hasRecord && stored?.state !== 'running') return { type: 'completed' }
    if (hasRecord) undo(key, stored as RunRecord, nowMs)
    if (holder !== undefined && isMine(holder))
      return { type: 'abandoned', announced: true, subscribers: free(key, holder, nowMs) }
    if (hasRecord && last?.random === claimed) last.ended = { random: claimed, how: 'released' }
    const { random, how } = last?.ended ?? {}
    if (hasRecord || (random === claimed && how === 'released')) return { type: 'abandoned', ...nobodyTold }
    return notMine(key, stored, nowMs)
  }

  /** Deletes the record of a run, or restores that of the run in doubt that it had replaced. */
  function undo(key: string, { before: [token, ...before] = [], ...record }: RunRecord, nowMs: number): void {
    const { expiresAtMs = nowMs } = records.get(key, nowMs) ?? {}
    records.delete(key)
    if (token !== undefined) records.set(key, { ...record, token, before }, expiresAtMs, nowMs)
  }

  function read(key: string): ReadOutcome {
    const nowMs = clock.monotonicMs()
    const stored = records.get(key, nowMs)?.value
    return { type: 'state', record: stored ? recordSeen(key, stored, nowMs) : null, lock: lockSeen(key, nowMs) }
  }

  const notMine = (key: string, stored: RunRecord | undefined, nowMs: number): NotMine =>
    stored ? { type: 'superseded', record: recordSeen(key, stored, nowMs) } : { type: 'gone' }

  function recordSeen(key: string, { state, token, fingerprint, result }: RunRecord, nowMs: number): StoredRecord {
    const expiresAtMs = records.get(key, nowMs)?.expiresAtMs ?? nowMs
    const holder = parseToken(token)?.name ?? null
    const about = { fence: fenceOf(token), holder, fingerprint, expiresInMs: Math.ceil(expiresAtMs - nowMs) }
    return state === 'done' ? { ...about, state, result: (result as Uint8Array).slice() } : { ...about, state }
  }

  function lockSeen(key: string, nowMs: number): HolderSeen | null {
    const holder = locks.get(key, nowMs)
    return holder ? { ...present(holder, nowMs), holder: parseToken(holder.value)?.name ?? null } : null
  }

  const carryOut = async <T>(call: CallDeadline, step: () => T): Promise<T | Unknown | Refused> => answer(call, step)
  return {
    async claim(request, call) {
      checkFingerprint(request.fingerprint)
      return carryOut(call, () => claim(request))
    },
    async complete(request, call) {
      checkFingerprint(request.fingerprint)
      checkResult(request.result)
      return carryOut(call, () => complete(request))
    },
    abandon: (request, call) => carryOut(call, () => abandon(request)),
    read: (key, call) => carryOut(call, () => read(key)),
  }
}

/** For outcomes of which nobody was notified, or nobody knows how many were. */
const nobodyTold = { announced: true, subscribers: null } as const
