import type { Unknown } from '../store/lease-store.ts'
import type { StoredRecord } from '../store/records.ts'
import { cursorOf } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import { ExpiringMap, type MapEntry } from './expiring-map.ts'
import { ExpiryWheel } from './expiry-wheel.ts'
import type { MemoryRoom } from './memory-room.ts'
import type { LockQueue } from './queue/lock-queue.ts'

/** What the store keeps for each lock key. Like a Redis key, every entry of a table has its own expiry. */
export interface Tables {
  /** The holder's token, `<acquisition id>.<fence>`. */
  readonly locks: ExpiringMap<string>
  /** Fence records. They outlive the lock. */
  readonly fences: ExpiringMap<FenceRecord>
  /** Records of work begun or done. They also outlive the lock. */
  readonly records: ExpiringMap<RunRecord>
  /** Sets that have waited for a long time. */
  readonly elders: ExpiringMap<Elder>
  /** Queues of locks that are waited for, and of locks with several holders. */
  readonly queues: ExpiringMap<LockQueue>
  /** The rooms, with their entries. */
  readonly rooms: ExpiringMap<MemoryRoom>
}

/** The set that has waited longest for a lock, if that is long. */
export interface Elder {
  /** When its wait began, in milliseconds of the monotonic clock. */
  readonly sinceMs: number
  /** The acquisition id with which it asks for this lock. */
  readonly acquisitionId: string
}

export interface FenceRecord {
  /** The random part of the last grant's acquisition id. */
  readonly random: string
  /** The last fence reserved. */
  readonly last: number
  /** How the last lease to be released or revoked ended. It answers a repeat of the request that ended it. */
  ended: Ending | undefined
}

export interface Ending {
  readonly random: string
  readonly how: 'released' | 'revoked'
}

export function openTables(clock: Clock): Tables {
  const wheel = new ExpiryWheel(clock)
  return {
    locks: new ExpiringMap(wheel),
    fences: new ExpiringMap(wheel),
    records: new ExpiringMap(wheel),
    elders: new ExpiringMap(wheel),
    queues: new ExpiringMap(wheel),
    rooms: new ExpiringMap(wheel),
  }
}

/** A key's record, as the Redis scripts keep it. */
export interface RunRecord {
  readonly state: StoredRecord['state']
  /** The token of the record's run. */
  readonly token: string
  readonly fingerprint: string
  /** Of a run: the token of the run in doubt that it replaced, then that of the first such run if there were more. */
  readonly before?: readonly string[] | undefined
  /** The result of work that is done. */
  readonly result?: Uint8Array | undefined
}

/** Carries out a request, unless its caller has stopped waiting. */
export const answer = <T>(call: CallDeadline, carryOut: () => T): T | Unknown =>
  call.isOver ? { type: 'unknown', executed: 'no', cause: notInTime } : carryOut()

const notInTime = new Error('The call was over before it began')

/** What a contended try learns about the holder. Milliseconds are rounded up, so that nobody checks too early. */
export const present = (
  { value, expiresAtMs }: MapEntry<string>,
  nowMs: number,
): { expiresInMs: number | null; cursor: string } => ({
  expiresInMs: expiresAtMs === Infinity ? null : Math.ceil(expiresAtMs - nowMs),
  cursor: cursorOf(value),
})
