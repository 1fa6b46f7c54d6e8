/** A call that waited for a lock and got it, in milliseconds of one clock. */
export interface ServedWait {
  readonly sinceMs: number
  readonly servedMs: number
}

/**
 * The most that any wait was overtaken: how many got the lock before it although they came more than `laterMs` after it. Those are
 * not counted who got it in the first `firstMs` of its wait, when the store need not know that it waits.
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
