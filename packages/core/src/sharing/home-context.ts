import type { Clock } from '../timing/clock.ts'

/**
 * Runs tasks, in order and a moment later, in the async context in which this was called: what `AsyncLocalStorage` holds
 * there, and not what it holds for whichever request happens to give rise to the task. What a task begins (a timer, a
 * socket, a promise chain) stays in that context, so no request's is kept alive by work that goes on after it.
 *
 * It works because an async function goes on in the context in which it was called, no matter who settles what it awaits.
 */
export function contextKeeper(): (task: () => void) => void {
  const tasks: (() => void)[] = []
  let wake: (() => void) | undefined
  // Async, so that a task that throws is an unhandled rejection and does not end the others.
  const run = async (task: () => void): Promise<void> => task()
  const serve = async (): Promise<never> => {
    for (;;) {
      for (let task = tasks.shift(); task; task = tasks.shift()) void run(task)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  void serve()
  return (task) => {
    tasks.push(task)
    wake?.()
  }
}

/** Runs a task in an async context of its choice, and answers what comes of it. */
export type Home = <T>(task: () => T | Promise<T>) => Promise<T>

/** A clock whose timers are armed by `run`, a moment later: in an async context of its choice. */
export const clockWithin = (clock: Clock, run: (task: () => void) => void): Clock => ({
  monotonicMs: () => clock.monotonicMs(),
  wallMs: () => clock.wallMs(),
  schedule(callback, delayMs, mode) {
    let cancel: (() => void) | undefined
    let cancelled = false
    run(() => {
      if (!cancelled) cancel = clock.schedule(callback, delayMs, mode)
    })
    return () => {
      cancelled = true
      cancel?.()
    }
  },
})
