/** A call that waited for a lock and got it, in milliseconds of one clock. */
export interface ServedWait {
  readonly sinceMs: number
  readonly servedMs: number
}

/**
 * The most times that any wait was overtaken: how many calls got the lock before it although they came more than
 * `laterMs` after it. Calls that got the lock in the first `firstMs` of its wait are not counted: until then the store
 * need not know of the wait.
 */
export function mostOvertaken(waits: readonly ServedWait[], laterMs: number, firstMs: number): number {
  const counts = waits.map(
    (wait) =>
      waits.filter(
        ({ sinceMs, servedMs }) =>
          sinceMs > wait.sinceMs + laterMs && servedMs > wait.sinceMs + firstMs && servedMs < wait.servedMs,
      ).length,
  )
  return Math.max(0, ...counts)
}
