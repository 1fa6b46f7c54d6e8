import type { Locker } from '../locker.ts'

/** The current leader. */
export interface Leader {
  /** The name of its locker; null if it has none. */
  readonly name: string | null
  /** Its term; null if another library holds the lock. */
  readonly fence: number | null
  /** When it began to lead, by the store's clock; null if another library holds the lock. */
  readonly since: Date | null
  /** How long until another can lead if this one falls silent, in milliseconds; null for a lock without expiry. */
  readonly expiresInMs: number | null
}

/**
 * Returns who leads now, whether or not this process stands for election; null if nobody leads. By the time you read
 * the result, it may have changed: if you act on it, pass the `fence` on.
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
