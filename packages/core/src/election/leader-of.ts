import type { Locker } from '../locker.ts'

/** Who leads. */
export interface Leader {
  /** The name of its locker; null if that has none. */
  readonly name: string | null
  /** Its term; null if another library holds the lock. */
  readonly fence: number | null
  /** Since when it leads, by the store's clock; null if another library holds the lock. */
  readonly since: Date | null
  /** How long until the next may lead if this one is heard of no more, in milliseconds; null for a lock without expiry. */
  readonly expiresInMs: number | null
}

/**
 * Answers who leads now, whether or not this process stands for election; null if nobody does. By the time you read the answer, that
 * may have changed: whoever acts on it should pass the `fence` on.
 *
 * @example
 * ```ts
 * const leader = await leaderOf(locks, 'scheduler')
 * console.log(leader ? `${leader.name} leads, term ${leader.fence}` : 'nobody leads')
 * ```
 *
 * @throws everything that `inspect` throws
 */
export async function leaderOf(locks: Locker, key: string): Promise<Leader | null> {
  const state = await locks.inspect(key)
  if (!state.held) return null
  const { holder: name, fence, since, expiresInMs } = state
  return { name, fence, since, expiresInMs }
}
