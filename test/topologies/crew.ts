import type { Locker } from '@leasehold/core'
import { acquireAll } from '@leasehold/core/many'
import { fifo } from '@leasehold/core/queue'
import { claimRecord } from '@leasehold/core/records'
import { semaphore } from '@leasehold/core/semaphore'
import { elapse } from '../support/scale.ts'

/** How many were at work at once, and which work went wrong. */
export interface CrewReport {
  readonly turns: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

export interface Crew {
  /** Resolves when each kind of work has had this many more turns. */
  turns(count: number): Promise<void>
  /** Lets everybody finish their work. */
  stop(): Promise<CrewReport>
}

type Work = (locks: Locker, inside: (most: number, work?: () => Promise<unknown>) => Promise<void>) => Promise<void>

const wait = '20s'

/**
 * Every kind of work that uses locks. The keys of one kind have one hash tag, except for the set over several slots.
 */
const kinds = (tag: string, ttl: number): Readonly<Record<string, Work>> => ({
  lock: (locks, inside) => locks.withLock(`{${tag}}lock`, { ttl, wait }, () => inside(1)),
  renewal: (locks, inside) =>
    locks.withLock(`{${tag}}renewal`, { ttl, wait }, (lease) =>
      inside(1, async () => {
        await elapse(2)
        await lease.renew({ ttl: ttl + 1_000 })
      }),
    ),
  queue: (locks, inside) => locks.withLock(`{${tag}}queue`, { ttl, wait, queue: fifo() }, () => inside(1)),
  async semaphore(locks, inside) {
    await using _ = await semaphore(locks, `{${tag}}semaphore`, { permits: 2 }).acquire({ ttl, wait })
    await inside(2)
  },
  async set(locks, inside) {
    await using _ = await acquireAll(locks, [`{${tag}}one`, `{${tag}}other`], { ttl, wait })
    await inside(1)
  },
  async 'set over several slots'(locks, inside) {
    await using _ = await acquireAll(locks, [`{${tag}}far`, `${tag}-1`, `${tag}-2`], { ttl, wait })
    await inside(1)
  },
  async record(locks, inside) {
    const claim = await claimRecord(locks, `{${tag}}record-${crypto.randomUUID()}`, { fingerprint: 'same', ttl, wait })
    if (claim.type !== 'claimed') throw new Error(`The claim of a new record answered ${claim.type}`)
    await inside(Infinity)
    const { type } = await claim.run.complete(new Uint8Array([1]))
    if (type !== 'completed') throw new Error(`A completion answered ${type}`)
  },
})

/**
 * Has all processes work on each kind at once, over and over, until they are stopped.
 *
 * @param ttl in milliseconds
 */
export function startCrew(processes: readonly Locker[], tag: string, ttl = 10_000): Crew {
  let stopped = false
  const faults: string[] = []
  const turns: Record<string, number> = {}
  const loops = Object.entries(kinds(tag, ttl)).flatMap(([kind, work]) => {
    turns[kind] = 0
    let present = 0
    const inside = async (most: number, act: () => Promise<unknown> = () => elapse(2)): Promise<void> => {
      if (++present > most) faults.push(`${kind}: ${present} at work at once`)
      try {
        await act()
      } finally {
        present--
      }
    }
    return processes.map(async (locks) => {
      while (!stopped) {
        await work(locks, inside).then(
          () => {
            turns[kind] = (turns[kind] ?? 0) + 1
          },
          (error: unknown) => {
            faults.push(`${kind}: ${error}`)
          },
        )
      }
    })
  })
  return {
    async turns(count) {
      const until = Object.fromEntries(Object.entries(turns).map(([kind, had]) => [kind, had + count]))
      const behind = (): string[] => Object.keys(turns).filter((kind) => Number(turns[kind]) < Number(until[kind]))
      for (let checks = 0; behind().length > 0; checks++) {
        if (checks > 6_000)
          throw new Error(`No turn in a minute: ${behind().join(', ')}; ${faults.slice(0, 5).join('; ')}`)
        await elapse(10)
      }
    },
    async stop() {
      stopped = true
      await Promise.all(loops)
      return { turns, faults }
    },
  }
}
