import { contextKeeper, type Home } from './home-context.ts'

export { clockWithin } from './home-context.ts'

/**
 * Whether calls of one process may share promises and timers: the renewal timer, the waiters' queue, a connection.
 *
 * On Workers they may not. A promise or timer made in one request and awaited in another hangs, or ends with the
 * request that made it. Under the conditions `workerd` and `edge-light` the package's `imports` replace this file with
 * one that returns `false`. This function asks the runtime, for builds that missed the condition.
 */
export function sharesBetweenCalls(): boolean {
  const runtime = globalThis as { navigator?: { userAgent?: string }; EdgeRuntime?: unknown }
  return runtime.navigator?.userAgent !== 'Cloudflare-Workers' && runtime.EdgeRuntime === undefined
}

/**
 * Makes a function that runs tasks, a moment later, in the async context in which `homeContext` was called. Where calls share
 * nothing, a task runs at once in its caller's context: every timer and promise must stay with the request that made it.
 */
export function homeContext(): Home {
  const keep = contextKeeper()
  // Async, so that a task that throws rejects its caller's promise, which would otherwise never settle.
  const run: Home = async (task) => task()
  return (task) => (sharesBetweenCalls() ? new Promise((resolve) => keep(() => resolve(run(task)))) : run(task))
}
