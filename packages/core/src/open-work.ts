import { LeaseholdError, type LossReason } from './errors.ts'
import { teller } from './events.ts'
import type { Home } from './sharing/home-context.ts'
import type { Clock } from './timing/clock.ts'
import { settledWithin, sleep } from './timing/deadline.ts'

/** What a locker has under way: waits, leases held, and clean-up that nobody waits for. Knows how to end it. */
export interface OpenWork {
  /** @throws LeaseholdError with code `CLOSED` once the locker is being closed */
  assertOpen(): void
  /** Runs a wait under a signal of its own, which the caller's signal and closing abort. */
  wait<T>(signal: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Counts a lease in, until it is dropped. A lease that comes while the locker closes is taken away at once. */
  hold(lease: Held): void
  drop(lease: Held): void
  /** Runs clean-up that no caller waits for, keeps track of it, and hands it over. */
  background(task: () => Promise<unknown>): void
  /** Hands a task that no caller need wait for to `waitUntil`, which keeps the runtime alive for it. */
  handOver(task: Promise<unknown>): void
  /**
   * Ends waits at once, lets leases be for `graceMs`, takes away what is left, and waits for clean-up, though no longer
   * than `cleanUpMs`: what it does not reach ends with its ttl.
   */
  close(clock: Clock, graceMs: number, cleanUpMs: number): Promise<void>
}

/** Keeps the runtime alive until a promise settles, as a Worker's `ctx.waitUntil` does. */
export type WaitUntil = (task: Promise<unknown>) => unknown

/** A lease, as far as ending it goes. */
interface Held {
  lose(reason: LossReason): void
  release(): Promise<unknown>
}

/**
 * @param home      runs a task in the locker's own async context, and not in the caller's
 * @param waitUntil takes tasks that may outlive the call
 */
export function openWork(home: Home, waitUntil: WaitUntil | undefined): OpenWork {
  const waits = new Map<AbortController, Promise<unknown>>()
  const leases = new Set<Held>()
  const tasks = new Set<Promise<unknown>>()
  let closed = false
  let onIdle: (() => void) | undefined
  const tell = teller(waitUntil)
  // A task never rejects there, where it would fail the request.
  const handOver = (task: Promise<unknown>): void => waitUntil && tell(task.catch(() => undefined))

  const assertOpen = (): void => {
    if (closed) throw closedError()
  }

  /** Signals fire before the locks are given back. */
  function takeAway(left: readonly Held[]): void {
    for (const lease of left) lease.lose('closed')
    for (const lease of left) background(() => lease.release())
  }

  function background(task: () => Promise<unknown>): void {
    const forget = (): unknown => tasks.delete(tracked)
    const tracked = home(task).then(forget, forget)
    tasks.add(tracked)
    handOver(tracked)
  }

  return {
    assertOpen,
    background,
    handOver,

    async wait(signal, run) {
      assertOpen()
      signal?.throwIfAborted()
      const stop = new AbortController()
      const onAbort = (): void => stop.abort(signal?.reason)
      signal?.addEventListener('abort', onAbort)
      const waiting = run(stop.signal)
      waits.set(stop, waiting)
      try {
        return await waiting
      } finally {
        waits.delete(stop)
        signal?.removeEventListener('abort', onAbort)
      }
    },

    hold(lease) {
      if (!closed) leases.add(lease)
      else takeAway([lease])
    },

    drop(lease) {
      leases.delete(lease)
      if (leases.size === 0) onIdle?.()
    },

    async close(clock, graceMs, cleanUpMs) {
      closed = true
      for (const stop of waits.keys()) stop.abort(closedError())
      // They end at once; only then is it known what they leave to clean up.
      await settledWithin(clock, cleanUpMs, Promise.allSettled(waits.values()))
      if (leases.size > 0) {
        await sleep(clock, graceMs, undefined, (wake) => {
          onIdle = wake
          return undefined
        })
      }
      // Losses are told in the locker's own context, and not in that of the caller of `close`.
      await home(() => takeAway([...leases]))
      await settledWithin(clock, cleanUpMs, Promise.all(tasks))
    },
  }
}

/** What ends waits when the locker is closed. */
export const closedError = (): LeaseholdError => new LeaseholdError('CLOSED', 'The locker was closed; make a new one')
