import { LeaseholdError, type Locker, StoreUnavailableError } from '@leasehold/core'
import { acquireAll } from '@leasehold/core/many'
import { fifo, priority } from '@leasehold/core/queue'
import { readWriteLock } from '@leasehold/core/read-write'
import { claimRecord } from '@leasehold/core/records'
import { semaphore } from '@leasehold/core/semaphore'
import { type Session, type Sessions, sessions } from '@leasehold/sessions'
import { elapse } from '../support/scale.ts'

/** How many were at work at once, and which work went wrong. */
export interface CrewReport {
  readonly turns: Readonly<Record<string, number>>
  readonly faults: readonly string[]
}

export interface CrewOptions {
  readonly ttlMs?: number
  /** How long each rests after a turn. */
  readonly pauseMs?: number
}

export interface Crew {
  /** Resolves when each kind of work has had this many more turns. */
  turns(count: number): Promise<void>
  /** Lets everybody finish their work. */
  stop(): Promise<CrewReport>
}

/** Is at work for a while, by default alone. Work may count for several of the most that may be at work at once. */
type Inside = (most: number, work?: () => Promise<unknown>, countsFor?: number) => Promise<void>
type Work = (locks: Locker, inside: Inside) => Promise<void>

const waitMs = 20_000
const wait = waitMs
/** More than there are readers. A writer counts for as many. */
const mostReaders = 1_000
/** How often a session asks for a role that somebody has, in milliseconds. */
const askEveryMs = 5

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
  async priority(locks, inside) {
    for (const level of [2, 1]) {
      await locks.withLock(`{${tag}}priority`, { ttl, wait, queue: priority(level) }, () => inside(1))
    }
  },
  async 'read/write lock'(locks, inside) {
    const doc = readWriteLock(locks, `{${tag}}doc`)
    await doc.withRead({ ttl, wait }, () => inside(mostReaders))
    await doc.withWrite({ ttl, wait }, () => inside(mostReaders, undefined, mostReaders))
  },
  async session(locks, inside) {
    await using registry = sessions(locks, { ttl })
    const session = await enter(registry, `{${tag}}room`)
    await inside(1)
    await session.leave()
    // Others ask now and then, and would never find the role free.
    await elapse(askEveryMs)
  },
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

/** Neither a session nor its role waits: the client asks again. */
async function enter(registry: Sessions, resource: string): Promise<Session> {
  const asked = { resource, role: 'writer', userId: crypto.randomUUID(), sessionId: crypto.randomUUID() }
  const giveUpAtMs = performance.now() + waitMs
  for (;;) {
    const isLate = performance.now() > giveUpAtMs
    const entered = await registry.enter(asked).catch((error: unknown) => {
      if (isLate || !(error instanceof StoreUnavailableError)) throw error
    })
    if (entered?.type === 'entered') return entered.session
    if (isLate) throw new Error('The role was never free')
    await elapse(askEveryMs)
  }
}

const isClosed = (error: unknown): boolean => error instanceof LeaseholdError && error.code === 'CLOSED'

/**
 * Has all processes work on each kind at once, over and over, until they are stopped or their lockers are closed.
 */
export function startCrew(
  processes: readonly Locker[],
  tag: string,
  { ttlMs = 10_000, pauseMs = 0 }: CrewOptions = {},
): Crew {
  let stopped = false
  const faults: string[] = []
  const turns: Record<string, number> = {}
  const loops = Object.entries(kinds(tag, ttlMs)).flatMap(([kind, work]) => {
    turns[kind] = 0
    let present = 0
    const inside: Inside = async (most, act = () => elapse(2), countsFor = 1) => {
      present += countsFor
      if (present > most) faults.push(`${kind}: ${present} at work at once`)
      try {
        await act()
      } finally {
        present -= countsFor
      }
    }
    return processes.map(async (locks) => {
      while (!stopped) {
        try {
          await work(locks, inside)
          turns[kind] = (turns[kind] ?? 0) + 1
        } catch (error) {
          if (isClosed(error)) return
          faults.push(`${kind}: ${error}`)
        }
        // Even if it is 0: nothing else would run beside a loop whose calls are all refused at once.
        await elapse(pauseMs)
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
