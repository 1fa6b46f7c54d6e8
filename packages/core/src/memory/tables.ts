import type { Unknown } from '../store/lease-store.ts'
import type { StoredRecord } from '../store/records.ts'
import { cursorOf } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Clock } from '../timing/clock.ts'
import { ExpiringMap, type MapEntry } from './expiring-map.ts'
import { ExpiryWheel } from './expiry-wheel.ts'
import type { MemoryRoom } from './memory-room.ts'
import type { LockQueue } from './queue/lock-queue.ts'

/** What the store keeps for each lock key. Every entry of a table has an expiry of its own, as a Redis key has. */
export interface Tables {
  /** The holder's token, `<acquisition id>.<fence>`. */
  readonly locks: ExpiringMap<string>
  /** Outlives the lock. */
  readonly fences: ExpiringMap<FenceRecord>
  /** Of work done or begun; they outlive the lock, too. */
  readonly records: ExpiringMap<RunRecord>
  /** Of sets that have waited for long. */
  readonly elders: ExpiringMap<Elder>
  /** Of locks that are waited for, and of those with several holders. */
  readonly queues: ExpiringMap<LockQueue>
  /** Who is in rooms. */
  readonly rooms: ExpiringMap<MemoryRoom>
}

/** The set that has waited for a lock for longest, if that is long. */
export interface Elder {
  /** Since when it waits, by the monotonic clock. */
  readonly sinceMs: number
  /** What it asks for this lock with. */
  readonly acquisitionId: string
}

export interface FenceRecord {
  /** The random part of the last grant's acquisition id. */
  readonly random: string
  /** The last fence reserved. */
  readonly last: number
  /** How the last lease ended, unless it simply expired. It is the answer to a repeat of the request that ended it. */
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
  /** That of its run. */
  readonly token: string
  readonly fingerprint: string
  /** Of a run: the token of the run in doubt that it replaced, and then that of the first such run, if there were more. */
  readonly before?: readonly string[] | undefined
  /** Of work that is done. */
  readonly result?: Uint8Array | undefined
}

/** A request is not carried out once its caller has stopped waiting. */
export const answer = <T>(call: CallDeadline, carryOut: () => T): T | Unknown =>
  call.isOver ? { type: 'unknown', executed: 'no', cause: notInTime } : carryOut()

const notInTime = new Error('The call was over before it began')

/** What a contended try learns of the holder. A started millisecond counts as a whole one, so that nobody checks too early. */
export const present = (
  { value, expiresAtMs }: MapEntry<string>,
  nowMs: number,
): { expiresInMs: number | null; cursor: string } => ({
  expiresInMs: expiresAtMs === Infinity ? null : Math.ceil(expiresAtMs - nowMs),
  cursor: cursorOf(value),
})
