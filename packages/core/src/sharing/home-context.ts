import type { Clock } from '../timing/clock.ts'

/**
 * Makes a function that runs tasks, in order and a moment later, in the async context in which `contextKeeper` was
 * called. So `AsyncLocalStorage` holds the same there for every task, whichever request causes the task. What a task
 * starts (a timer, a socket, a promise chain) stays in that context, too, so work that outlives a request does not keep
 * the request's context alive.
 *
 * It works because an async function continues in the context in which it was called, whoever ends its await.
 */
export function contextKeeper(): (task: () => void) => void {
  const tasks: (() => void)[] = []
  let wake: (() => void) | undefined
  // Async, so that a task that throws causes an unhandled rejection and does not end the loop.
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

/** Runs a task in an async context of its own choice, and returns the task's result. */
export type Home = <T>(task: () => T | Promise<T>) => Promise<T>

/** Makes a clock that sets its timers through `run`, a moment later, in the async context that `run` chooses. */
export const clockWithin = (clock: Clock, run: (task: () => void) => void): Clock => ({
  monotonicMs: () => clock.monotonicMs(),
  wallMs: () => clock.wallMs(),
  schedule(callback, delayMs, mode) {
    let cancel: (() => void) | undefined
    let cancelled = false
    // The process may be busy until the task runs.
    const dueMs = clock.monotonicMs() + delayMs
    run(() => {
      if (!cancelled) cancel = clock.schedule(callback, Math.max(0, dueMs - clock.monotonicMs()), mode)
    })
    return () => {
      cancelled = true
      cancel?.()
    }
  },
})
