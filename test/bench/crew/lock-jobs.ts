import { setTimeout as sleep } from 'node:timers/promises'
import type { Held, Locks } from '../contestants/contestant.ts'
import { nowMs, until } from '../measure/clock.ts'
import type { Served } from '../measure/hand-offs.ts'

export interface WaitOrder {
  readonly key: string
  /** When each waiter of this process arrives, in milliseconds of `nowMs`. */
  readonly arrivals: readonly number[]
  readonly holdMs: number
}

export interface Waited {
  readonly served: readonly Served[]
  /** How many waiters the library gave up on. */
  readonly failed: number
}

/** The jobs of a process with locks. */
export function lockJobs(locks: Locks) {
  const held = new Map<string, Held>()

  async function waitOnce(key: string, holdMs: number): Promise<Served | undefined> {
    const arrivedAt = nowMs()
    const lease = await locks.acquire(key).catch(() => undefined)
    if (!lease) return undefined
    const acquiredAt = nowMs()
    await sleep(holdMs)
    const releasedAt = nowMs()
    await lease.release()
    return { arrivedAt, acquiredAt, releasedAt, doneAt: nowMs(), fence: lease.fence ?? null }
  }

  async function arrive<T>(arrivals: readonly number[], each: () => Promise<T>): Promise<readonly Promise<T>[]> {
    const calls: Promise<T>[] = []
    for (const arrival of arrivals) {
      await until(arrival)
      calls.push(each())
    }
    return calls
  }

  return {
    /** Takes a lock until `letGo`. */
    async hold({ key }: { readonly key: string }): Promise<void> {
      held.set(key, await locks.acquire(key))
    },

    async letGo({ key }: { readonly key: string }): Promise<{ readonly releasedAt: number }> {
      const lease = held.get(key)
      held.delete(key)
      const releasedAt = nowMs()
      await lease?.release()
      return { releasedAt }
    },

    /** Starts many waiters for one lock; each holds it for a while once it has it. */
    async wait({ key, arrivals, holdMs }: WaitOrder): Promise<Waited> {
      const all = await Promise.all(await arrive(arrivals, () => waitOnce(key, holdMs)))
      const served = all.filter((waiter) => waiter !== undefined)
      return { served, failed: all.length - served.length }
    },

    /**
     * Like `wait`, but returns as soon as one has the lock, which keeps it. The others keep waiting: end the process.
     */
    async first({ key, arrivals }: Omit<WaitOrder, 'holdMs'>): Promise<{ readonly acquiredAt: number }> {
      const acquiring = async (): Promise<number> => {
        held.set(key, await locks.acquire(key))
        return nowMs()
      }
      return { acquiredAt: await Promise.any(await arrive(arrivals, acquiring)) }
    },
  }
}
