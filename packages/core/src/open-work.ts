import { LeaseholdError, type LossReason } from './errors.ts'
import { teller } from './events.ts'
import { type Member, Roster } from './roster.ts'
import type { Home } from './sharing/home-context.ts'
import type { Clock } from './timing/clock.ts'
import { settledWithin, sleep } from './timing/deadline.ts'
import { Span } from './timing/span.ts'

/** A locker's open work: waits, held leases, and clean-up that no caller waits for. It can end all of them. */
export interface OpenWork {
  /** @throws LeaseholdError with code `CLOSED` once the locker is closing */
  assertOpen(): void
  /**
   * Begins a wait, which ends early when the caller's signal is aborted or the locker closes.
   *
   * @throws LeaseholdError with code `CLOSED` once the locker is closing
   * @throws the signal's own reason if it is aborted already
   */
  begin(signal: AbortSignal | undefined): Wait
  /** The wait is over. */
  end(wait: Wait): void
  /** Tracks a lease until it is dropped. A lease that arrives once the locker is closing is taken away at once. */
  hold(lease: Held): void
  drop(lease: Held): void
  /** Starts clean-up that no caller waits for, tracks it, and hands it to `waitUntil`. */
  background(task: () => Promise<unknown>): void
  /** Hands a promise that the caller need not await to `waitUntil`, which keeps the runtime alive for it. */
  handOver(task: Promise<unknown>): void
  /**
   * Ends waits at once, leaves leases alone for `graceMs`, then takes away those that are still held. It waits for
   * clean-up, but no longer than `cleanUpMs`: a lease that clean-up does not reach ends with its ttl.
   */
  close(clock: Clock, graceMs: number, cleanUpMs: number): Promise<void>
}

/** Keeps the runtime alive until a promise settles, such as `ctx.waitUntil` of a Worker. */
export type WaitUntil = (task: Promise<unknown>) => unknown

/** A wait in progress. */
export class Wait extends Span implements Member {
  place = 0
  /** Stops listening to the caller's signal. */
  withdraw: (() => void) | undefined
}

/** The part of a lease that ends it. */
interface Held extends Member {
  lose(reason: LossReason): void
  release(): Promise<unknown>
}

/**
 * @param home      runs a task in the locker's own async context, not in that of the call that caused it
 * @param waitUntil takes the promises of work that may outlive the call that caused it
 */
export function openWork(home: Home, waitUntil: WaitUntil | undefined): OpenWork {
  const waits = new Roster<Wait>()
  const leases = new Roster<Held>()
  const tasks = new Set<Promise<unknown>>()
  let closed = false
  let onLastWait: (() => void) | undefined
  let onIdle: (() => void) | undefined
  const tell = teller(waitUntil)
  // A promise that is handed over never rejects: the runtime would report that as an error of the request.
  const handOver = (task: Promise<unknown>): void => waitUntil && tell(task.catch(() => undefined))

  const assertOpen = (): void => {
    if (closed) throw closedError()
  }

  /** Fires every lease's signal before any lock is given back. */
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

    begin(signal) {
      assertOpen()
      signal?.throwIfAborted()
      const wait = new Wait()
      if (signal) wait.withdraw = wait.endWith(signal)
      waits.add(wait)
      return wait
    },

    end(wait) {
      wait.withdraw?.()
      waits.delete(wait)
      if (waits.size === 0) onLastWait?.()
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
      for (const wait of waits.all()) wait.end(closedError())
      // The waits end at once. Only then is it known what clean-up they leave.
      if (waits.size > 0) {
        await sleep(clock, cleanUpMs, undefined, (wake) => {
          onLastWait = wake
          return undefined
        })
      }
      if (leases.size > 0) {
        await sleep(clock, graceMs, undefined, (wake) => {
          onIdle = wake
          return undefined
        })
      }
      // Listeners learn of the loss in the locker's async context, not in that of the caller of `close`.
      await home(() => takeAway(leases.all()))
      await settledWithin(clock, cleanUpMs, Promise.all(tasks))
    },
  }
}

/** The error that ends waits when the locker is closed. */
export const closedError = (): LeaseholdError => new LeaseholdError('CLOSED', 'The locker was closed; make a new one')
