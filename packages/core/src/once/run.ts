import type { Run } from '../records/run.ts'

/** What the work of `once` has of its run: the key's lock, by a lease that is renewed until the work has settled. */
export interface OnceRun extends Pick<Run, 'key' | 'fence' | 'overtook' | 'remaining' | 'assertValid'> {
  /**
   * Aborted when the lease is lost, with a `LeaseLostError`, and when the last caller of this process has gone, with the reason for
   * which that one went. Then nobody here has a use for the result.
   */
  readonly signal: AbortSignal
}

/** What `once` runs. It has to be idempotent: see there. */
export type OnceWork<T> = (run: OnceRun) => T | Promise<T>
