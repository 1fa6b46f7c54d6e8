import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { heapBytes } from '../../support/heap.ts'
import type { Held, Locks } from '../contestants/contestant.ts'
import { processCpuMs } from '../measure/process-cpu.ts'

export interface Rested {
  readonly ms: number
  readonly cpuMs: number
  /** The event loop delay at the 99th percentile, in milliseconds. */
  readonly delayP99: number
}

/** Bytes of heap for each. */
export interface Weight {
  readonly each: number
  /** Bytes left for each once all have ended, if that was waited for. */
  readonly left?: number
}

/** How many locks are requested at once: the whole crowd would be a burst. */
const portion = 500
/** How often the event loop delay is sampled, in milliseconds. */
const resolutionMs = 10
/** Enough to compile what a waiter needs. */
const warmUpWaiters = 50
/** By then a waiter has been refused, has subscribed and has set or cleared its timers. */
const settledMs = 500

/** The jobs of a process that holds many locks, or has many waiters. */
export function holdingJobs(locks: Locks) {
  const kept: Held[] = []

  async function inPortions<T>(count: number, each: (which: number) => Promise<T>): Promise<readonly T[]> {
    const all: T[] = []
    while (all.length < count) {
      const size = Math.min(portion, count - all.length)
      all.push(...(await Promise.all(Array.from({ length: size }, (_, which) => each(all.length + which)))))
    }
    return all
  }

  async function weighHeldOnce(count: number, withSignal: boolean): Promise<Weight> {
    const before = await heapBytes()
    let held = await inPortions(count, (which) => locks.acquire(`held-${which}`))
    if (withSignal) for (const lease of held) void lease.signal?.aborted
    const holding = await heapBytes()
    await inPortions(count, async (which) => held[which]?.release())
    held = []
    return { each: (holding - before) / count, left: ((await heapBytes()) - before) / count }
  }

  async function weighWaitersOnce(count: number, untilServed: boolean): Promise<Weight> {
    const before = await heapBytes()
    const first = await locks.acquire('weighed')
    const waiters = Array.from({ length: count }, () => locks.acquire('weighed').then((lease) => lease.release()))
    await sleep(settledMs)
    const each = ((await heapBytes()) - before) / count
    if (!untilServed) return { each }
    await first.release()
    await Promise.all(waiters)
    waiters.length = 0
    await sleep(settledMs)
    return { each, left: ((await heapBytes()) - before) / count }
  }

  return {
    /** Takes `count` locks, which the library renews from then on. */
    async keepAll({ count, ttlMs }: { readonly count: number; readonly ttlMs: number }): Promise<void> {
      const { keep } = locks
      if (!keep) throw new Error('It does not renew')
      kept.push(...(await inPortions(count, (which) => keep(`kept-${which}`, ttlMs))))
    },

    /** Does nothing for a while, and returns what that took. */
    async rest({ forMs }: { readonly forMs: number }): Promise<Rested> {
      const delay = monitorEventLoopDelay({ resolution: resolutionMs })
      const from = performance.now()
      const before = processCpuMs()
      delay.enable()
      await sleep(forMs)
      delay.disable()
      const delayP99 = Math.max(0, delay.percentile(99) / 1e6 - resolutionMs)
      return { ms: performance.now() - from, cpuMs: processCpuMs() - before, delayP99 }
    },

    /** The weight of a held lock. The first call compiles what it needs. */
    async weighHeld({ count, withSignal = false }: { readonly count: number; readonly withSignal?: boolean }) {
      await weighHeldOnce(count, withSignal)
      return weighHeldOnce(count, withSignal)
    },

    /** The weight of a waiter for a lock that its own process holds. A polling crowd takes minutes to be served. */
    async weighWaiters(order: { readonly count: number; readonly untilServed: boolean }): Promise<Weight> {
      await weighWaitersOnce(order.untilServed ? order.count : warmUpWaiters, true)
      return weighWaitersOnce(order.count, order.untilServed)
    },

    /** The processor time that this process has used. */
    async cpuMs(): Promise<number> {
      return processCpuMs()
    },
  }
}
