import { setTimeout as sleep } from 'node:timers/promises'
import { heapBytes } from '../../support/heap.ts'
import type { Locks } from '../contestants/contestant.ts'
import { nowMs, until } from '../measure/clock.ts'
import { processCpuMs } from '../measure/process-cpu.ts'
import { median, percentile } from '../measure/statistics.ts'

export interface LoopOrder {
  readonly inFlight: number
  readonly forMs: number
}

export interface Looped {
  readonly pairs: number
  /** The time that a pair took, in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Processor time of this process, the bench's own share included. */
  readonly cpuMs: number
}

/** How many locks in all, how many at once, and how many before counting starts. */
export interface AllocationOrder {
  readonly inFlight: number
  readonly count: number
  readonly warmUp: number
}

export interface HotOrder {
  readonly key: string
  readonly loops: number
  /** In milliseconds of `nowMs`. */
  readonly startAt: number
  readonly forMs: number
}

export interface HotRun {
  readonly acquired: number
  readonly failed: number
  /** The longest wait of any loop, including those still waiting at the end. */
  readonly longestMs: number
  /** How many loops never got the lock. */
  readonly starved: number
}

export interface Burst {
  readonly granted: number
  readonly failed: number
  /** Time until the last was answered. */
  readonly ms: number
  /** The first failure's message. */
  readonly problem?: string
}

/** What the first locks of a process took, up to some count. */
export interface Look {
  readonly count: number
  /** In milliseconds. */
  readonly ms: number
  /** Processor time, in milliseconds. */
  readonly cpuMs: number
}

/** How long a loop may keep waiting when its time is up. */
const graceMs = 1_000
/** How many locks are taken at once to warm up. */
const warmUpLoops = 16
/** The number of series whose median is reported as the allocations. */
const allocationSeries = 7

/** The jobs of a process that uses locks as fast as it can. */
export function loadJobs(locks: Locks) {
  const pair = async (key: string): Promise<void> => {
    const lease = await locks.acquire(key)
    await lease.release()
  }
  const once = locks.withLock ?? pair
  const attempt = locks.attempt ?? locks.acquire

  return {
    /** Takes and releases a key of its own in each of many loops. */
    async loop({ inFlight, forMs }: LoopOrder): Promise<Looped> {
      const pairs: number[] = []
      const before = processCpuMs()
      const endAt = nowMs() + forMs
      const loop = async (key: string): Promise<void> => {
        for (let from = nowMs(); from < endAt; from = nowMs()) {
          await pair(key)
          pairs.push(nowMs() - from)
        }
      }
      await Promise.all(Array.from({ length: inFlight }, (_, index) => loop(`loop-${process.pid}-${index}`)))
      const cpuMs = processCpuMs() - before
      return { pairs: pairs.length, p50: median(pairs), p99: percentile(pairs, 0.99), cpuMs }
    },

    /** Takes and releases locks one after another, each on a new key, and looks at the clock after so many. */
    async firstLocks({ counts }: { readonly counts: readonly number[] }): Promise<readonly Look[]> {
      const [from, cpuFrom] = [nowMs(), processCpuMs()]
      const looks: Look[] = []
      for (let count = 1; looks.length < counts.length; count++) {
        await pair(`first-${process.pid}-${count}`)
        if (counts.includes(count)) looks.push({ count, ms: nowMs() - from, cpuMs: processCpuMs() - cpuFrom })
      }
      return looks
    },

    /**
     * Returns how many bytes of heap one lock around no work allocates, garbage included. Nothing may be collected
     * within a series, so the process needs a young generation that is larger than a series; see `roomyYoung`.
     */
    async allocations({ inFlight, count, warmUp }: AllocationOrder): Promise<number> {
      const run = async (total: number, loops = inFlight): Promise<void> => {
        const loop = async (key: string): Promise<void> => {
          for (let turn = 0; turn < total; turn += loops) await once(key)
        }
        await Promise.all(Array.from({ length: loops }, (_, index) => loop(`allocations-${index}`)))
      }
      const series = async (): Promise<number> => {
        const before = await heapBytes()
        await run(count)
        return (process.memoryUsage().heapUsed - before) / count
      }
      // Many at once are done sooner. Then one series that is not counted, for what runs only with this number at once.
      await run(warmUp, Math.max(inFlight, warmUpLoops))
      await run(count)
      const all: number[] = []
      while (all.length < allocationSeries) all.push(await series())
      return median(all)
    },

    /** Acquires one key in each of many loops, and releases it at once. */
    async hot({ key, loops, startAt, forMs }: HotOrder): Promise<HotRun> {
      const counts = Array.from({ length: loops }, () => 0)
      const waitingSince = counts.map(() => startAt)
      const endAt = startAt + forMs
      let [failed, longestMs] = [0, 0]
      const loop = async (which: number): Promise<void> => {
        for (let from = nowMs(); from < endAt; from = nowMs()) {
          waitingSince[which] = from
          const lease = await locks.acquire(key).catch(() => undefined)
          const now = nowMs()
          if (!lease) failed++
          else if (now < endAt) {
            counts[which] = (counts[which] ?? 0) + 1
            longestMs = Math.max(longestMs, now - from)
          }
          await lease?.release()
        }
        waitingSince[which] = endAt
      }
      await until(startAt)
      await Promise.race([Promise.all(counts.map((_, which) => loop(which))), sleep(forMs + graceMs)])
      return {
        acquired: counts.reduce((total, count) => total + count, 0),
        failed,
        longestMs: Math.max(longestMs, ...waitingSince.map((since) => endAt - since)),
        starved: counts.filter((count) => count === 0).length,
      }
    },

    /** Asks once for a lock on each of many keys, in one turn of the event loop. They stay held. */
    async burst({ count, ttlMs }: { readonly count: number; readonly ttlMs: number }): Promise<Burst> {
      const from = nowMs()
      const asked = Array.from({ length: count }, (_, which) => attempt(`burst-${process.pid}-${which}`, ttlMs))
      const answers = await Promise.allSettled(asked)
      const ms = nowMs() - from
      const refused = answers.find((answer) => answer.status === 'rejected')
      const granted = answers.filter(({ status }) => status === 'fulfilled').length
      const problem = refused && String(refused.reason)
      return { granted, failed: count - granted, ms, ...(problem !== undefined && { problem }) }
    },
  }
}

/** For a process whose allocations are counted: a young generation of 128 MB, collected when it is full. */
export const roomyYoung: readonly string[] = ['--min-semi-space-size=128', '--max-semi-space-size=128']
