/** A key whose run did not record how it ended: it may have had its effect, or not. */
export interface InDoubt {
  readonly request: Request
  /** The client's key. */
  readonly key: string
  /** The fence of the run that left the key in doubt. */
  readonly fence: number
  /** The name of the locker that had the run; null if it has none. */
  readonly holder: string | null
  /** How long the key stays in doubt, in milliseconds. */
  readonly forMs: number | null
}

/**
 * What to do about a key in doubt. `reject` answers 409 `in-doubt`. `rerun` runs the work, perhaps a second time, and
 * `run.overtook` says so. An async function may find out what happened, and may return an answer of its own.
 */
export type DoubtPolicy = 'reject' | 'rerun' | ((doubt: InDoubt) => Promise<'reject' | 'rerun' | Response>)
