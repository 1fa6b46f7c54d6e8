/** What a store did with a lock. An expiry is not recorded: it follows from the times. */
export type LockChange =
  | {
      readonly type: 'granted'
      readonly key: string
      readonly atMs: number
      readonly expiresAtMs: number
      /** The process whose request it was. */
      readonly process: string
      /** The first of the fences reserved with the grant, and how many there are: each lease of the grant has one. */
      readonly fence: number
      readonly fences: number
    }
  | { readonly type: 'extended'; readonly key: string; readonly atMs: number; readonly expiresAtMs: number }
  | { readonly type: 'released' | 'revoked'; readonly key: string; readonly atMs: number }

/** A request of a process, as that process saw it. */
export interface SentRequest {
  readonly name: 'acquire' | 'inspect' | 'release'
  readonly key: string
  readonly process: string
  readonly atMs: number
  /** When it was answered or given up; undefined before that. */
  readonly endedAtMs?: number
  readonly answered: boolean
}

/** What is known about a call that wants a lock before it ends. */
export interface WaitingFor {
  readonly key: string
  readonly process: string
  /** How long it may take; 0 for a call that does not wait. */
  readonly waitMs: number
  /** How long it would go without asking the store if it were alone: see `patienceMs`. */
  readonly patienceMs: number
}

/** Busy: the call learned that somebody else had the lock. Unavailable: it learned that the store did not answer. */
export type WaitEnd = 'granted' | 'busy' | 'aborted' | 'unavailable' | 'failed'

/** A call that wants a lock, from beginning to end. */
export interface RecordedWait extends WaitingFor {
  readonly sinceMs: number
  readonly abortedAtMs?: number
  readonly endedAtMs?: number
  readonly end?: WaitEnd
  /** The fence of the lease, if there is one. */
  readonly fence?: number | null
  /** When the lease was given back or lost. */
  readonly leftAtMs?: number
}

/** What happened to locks, and to the calls that wanted them. Each list is in chronological order. */
export interface LockRecord {
  readonly changes: readonly LockChange[]
  readonly requests: readonly SentRequest[]
  readonly waits: readonly RecordedWait[]
  /** When the record was closed. */
  readonly endMs: number
}
