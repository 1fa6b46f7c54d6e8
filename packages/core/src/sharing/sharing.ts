import { contextKeeper, type Home } from './home-context.ts'

export { clockWithin } from './home-context.ts'

/**
 * Whether calls of one process may share promises and timers: the renewal timer, the waiters' queue, a connection.
 *
 * On Workers they may not. A promise or timer born in one request and awaited in another hangs, or ends with the request
 * it was born in. The package's `imports` replace this file, under the conditions `workerd` and `edge-light`, by one that
 * answers `false`; a build that missed the condition is caught by asking once per call where it runs.
 */
export function sharesBetweenCalls(): boolean {
  const runtime = globalThis as { navigator?: { userAgent?: string }; EdgeRuntime?: unknown }
  return runtime.navigator?.userAgent !== 'Cloudflare-Workers' && runtime.EdgeRuntime === undefined
}

/**
 * What runs tasks in the async context in which this was called, a moment later; where calls share nothing, at once and
 * where they are, since there every timer and promise has to stay with the request that made it.
 */
export function homeContext(): Home {
  const keep = contextKeeper()
  // Async, so that a task that throws rejects for its caller and hangs nobody.
  const run: Home = async (task) => task()
  return (task) => (sharesBetweenCalls() ? new Promise((resolve) => keep(() => resolve(run(task)))) : run(task))
}
