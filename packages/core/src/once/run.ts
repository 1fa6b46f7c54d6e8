import type { Run } from '../records/run.ts'

/**
 * What the work of `once` knows of its run. The run has the key's lock, by a lease that is renewed until the work has
 * settled.
 */
export interface OnceRun extends Pick<Run, 'key' | 'fence' | 'overtook' | 'remaining' | 'assertValid'> {
  /**
   * Aborted with a `LeaseLostError` when the lease is lost, and when the last caller of this process has left, with the
   * reason why that caller left. Then nobody here has a use for the result.
   */
  readonly signal: AbortSignal
}

/** What `once` runs. It must be idempotent: see `once`. */
export type OnceWork<T> = (run: OnceRun) => T | Promise<T>
