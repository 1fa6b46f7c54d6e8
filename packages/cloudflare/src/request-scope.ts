import { type Budget, type Duration, InvalidOptionError, type LockerOptions, parseDuration } from '@leasehold/core'
import { demandObject, demandOption, refuseUnknown } from '@leasehold/core/adapter'
import { defaultBudget, defaultWaitMs, longestWaitMs } from './figures.ts'

/** The context that a Worker gets with each request; Cloudflare's `ExecutionContext` fits. */
export interface RequestContext {
  waitUntil(task: Promise<unknown>): void
}

export interface RequestScopeOptions {
  /**
   * How many store commands the acquires, claims and resumes of this request may use together; default 40. The platform
   * allows 50 subrequests on its free plan and 1,000 or more on others. A command is one subrequest, or two if the server
   * has forgotten the script, which happens after it restarts. Not counted, so leave room for them: renewals, a release
   * for each lease, the end of a claimed run, what `bridgeNotifier` sends, the call by which `watchdog` delegates a
   * lease, and the request's other subrequests.
   */
  readonly budget?: number | undefined
  /**
   * How long an acquire waits that does not say so itself; default 10 s, at most 25 s: the platform ends a request 30 s
   * after its client has left. It is only the locker's default. The `wait` of a call, or of `idempotent`, replaces it,
   * and is not limited.
   */
  readonly wait?: Duration | undefined
}

/** Options of a locker for one request. */
export interface RequestScope extends Required<Pick<LockerOptions, 'waitUntil'>> {
  readonly wait: number
  readonly budget: Budget
}

/**
 * The options of a locker that serves one request: background work is passed to `waitUntil`, the default wait is within
 * what the platform allows, and all acquires share one budget of store commands. Create them for each request, and do not
 * share them between requests. A locker is cheap: it does nothing until it is called.
 *
 * When the budget is used up, a waiting acquire ends with `AcquireTimeoutError`, and later ones are refused with an
 * error that names the option. Renewals and releases are never refused. With a notifier, such as `bridgeNotifier`, a
 * contended acquire uses two commands, rather than one or two per second.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store, notifier, ...requestScope(ctx) })
 * ```
 *
 * @throws InvalidOptionError for a context without `waitUntil`, or a bad option
 */
export function requestScope(ctx: RequestContext, options: RequestScopeOptions = {}): RequestScope {
  demandObject(options)
  const { budget = defaultBudget, wait = defaultWaitMs, ...rest } = options
  refuseUnknown(rest)
  demandOption(typeof ctx?.waitUntil === 'function', 'ctx', 'the context of a request', ctx)
  demandOption(typeof budget === 'number' && budget >= 1, 'budget', 'at least 1')
  const waitMs = parseDuration('wait', wait, 0)
  if (waitMs > longestWaitMs) throw new InvalidOptionError('wait', `must be ${longestWaitMs} ms at most in a request`)
  return { waitUntil: (task) => ctx.waitUntil(task), wait: waitMs, budget: { left: budget } }
}
