import type { ListedLock } from '@leasehold/core/listing'
import { waitersOf } from '../output/lock-columns.ts'

/** What happened to a lock between two looks at it. */
export type ChangeName =
  /** Somebody has it. */
  | 'held'
  /** Somebody else has it now, and the previous holder gave it back. */
  | 'handed-on'
  /** Its holder gave it back. */
  | 'released'
  /** An operator took it away. */
  | 'revoked'
  /** It expired, or was deleted: no release of it was heard. */
  | 'lost'
  /** It is gone, and nobody knows how: releases are not heard here. */
  | 'gone'
  /** The number of waiters has changed. */
  | 'waiting'

export interface LockChange {
  readonly change: ChangeName
  readonly key: string
  /** Who has it now, or had it last. */
  readonly holder: string | null
  readonly fence: number | null
  /** How many have it now. */
  readonly holders: number
  /** How many are in its queue. */
  readonly waiting: number
  /** How many processes listen for its release; null if they cannot be counted. */
  readonly listeners: number | null
  /** The previous holder of a lock that was handed on. */
  readonly from?: string | null
}

/** How a lease ended, as it was announced. */
export type Ending = 'released' | 'revoked'

/**
 * Compares a lock as last known with the lock now. Undefined means that nobody holds it or waits for it.
 *
 * @param ended how a lease of `before` ended: undefined if its end was not announced, `unheard` if nobody listened
 */
export function changesOf(
  before: ListedLock | undefined,
  now: ListedLock | undefined,
  ended: Ending | 'unheard' | undefined,
): readonly LockChange[] {
  const lock = now ?? before
  if (!lock) return []
  const about = (change: ChangeName, of: ListedLock = lock): LockChange => ({
    change,
    key: lock.key,
    holder: of.holder,
    fence: of.fence,
    holders: now?.holders ?? 0,
    waiting: now?.waiting ?? 0,
    listeners: now ? now.listeners : 0,
  })
  const changes: LockChange[] = []
  const [had, has] = [before?.holders ?? 0, now?.holders ?? 0]
  if (had === 1 && has === 1 && before?.fence !== now?.fence) {
    // Where nobody hears releases, a lock that changes holders counts as given back.
    if (ended === 'released' || ended === 'unheard')
      changes.push({ ...about('handed-on'), from: before?.holder ?? null })
    else changes.push(about(ended ?? 'lost', before), about('held'))
  } else if (has > had) changes.push(about('held'))
  else if (has < had) changes.push(about(ended === 'unheard' ? 'gone' : (ended ?? 'lost'), before))
  if (now && waitersOf(now) !== (before ? waitersOf(before) : 0)) changes.push(about('waiting'))
  return changes
}

/** Whether a lease has ended between the two looks, so that it is worth asking how. */
export const hasEnded = (before: ListedLock | undefined, now: ListedLock | undefined): boolean =>
  before !== undefined &&
  before.holders > 0 &&
  (before.holders > (now?.holders ?? 0) || (before.holders === 1 && before.fence !== now?.fence))
