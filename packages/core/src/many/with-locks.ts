import { demandOption, LeaseLostError, type LossReason } from '../errors.ts'
import type { Locker } from '../locker.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import { settledWithin } from '../timing/deadline.ts'
import { acquireSet, type SetOptions, sharedForSets } from './acquire-all.ts'
import { lostReleaseMs } from './figures.ts'
import type { HeldSet, LeaseSet } from './lease-set.ts'

/** What `withLocks` runs under several locks. They are given back when it settles. */
export type SetWork<T> = (set: LeaseSet) => T | Promise<T>

/**
 * Runs work under several locks and gives them back whatever happens, as `withLock` does for one. The options are those
 * of `acquireAll`.
 *
 * @example
 * ```ts
 * await withLocks(locks, ['stock:1', 'stock:2'], { wait: '5s' }, async (both) => {
 *   both.assertValid()
 *   await move({ signal: both.signal })
 * })
 * ```
 *
 * @throws the work's own error, which wins over every other
 * @throws LeaseLostError if one of the leases was lost meanwhile; its `result` is what the work returned
 * @throws everything that `acquireAll` throws
 */
export function withLocks<T>(locks: Locker, keys: Iterable<string>, work: SetWork<T>): Promise<T>
export function withLocks<T>(
  locks: Locker,
  keys: Iterable<string>,
  options: SetOptions | undefined,
  work: SetWork<T>,
): Promise<T>
export async function withLocks<T>(
  locks: Locker,
  keys: Iterable<string>,
  first: SetOptions | SetWork<T> | undefined,
  second?: SetWork<T>,
): Promise<T> {
  const isAlone = second === undefined && typeof first === 'function'
  const work = (isAlone ? first : second) as SetWork<T>
  demandOption(typeof work === 'function', 'work', 'a function')
  const set = (await acquireSet(locks, keys, isAlone ? undefined : (first as SetOptions))) as HeldSet
  let result: T
  let ended: ReadonlyMap<string, ReleaseResult> = new Map()
  try {
    result = await work(set)
  } finally {
    const releasing = set.release()
    if (set.lost) await settledWithin(sharedForSets(locks).context.clock, lostReleaseMs, releasing)
    else ended = await releasing
  }
  if (set.lost) throw set.lost.lostError(undefined, result)
  // A loss may show only at the release.
  for (const [key, how] of ended) {
    const reason: LossReason | undefined = how === 'expired' ? 'gone' : how === 'superseded' ? how : undefined
    if (reason) throw new LeaseLostError(key, reason, undefined, result)
  }
  return result
}
