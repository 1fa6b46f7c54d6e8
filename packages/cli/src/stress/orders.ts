import type { ConnectionSettings } from '../connection/settings.ts'

/** The orders for one `stress` process. They go by a message, because others could read a command line. */
export interface StressOrders {
  readonly settings: ConnectionSettings
  readonly key: string
  /** How many of the process's calls contend at once. */
  readonly callers: number
  readonly forMs: number
  /** The longest hold; each lasts a random time up to it. */
  readonly holdMs: number
  readonly ttlMs: number
}

/** One hold. Times are in nanoseconds of the clock that all processes of the machine share. */
export interface Hold {
  readonly enteredNs: number
  /** When the holder stopped trusting it: at its release, or when its signal reported the loss. */
  readonly leftNs: number
  readonly fence: number
  readonly waitedMs: number
  readonly isLost: boolean
}

/** What a process reports: that it is connected, and at the end what it did. */
export type StressReport =
  | { readonly type: 'ready' }
  | {
      readonly type: 'done'
      readonly holds: readonly Hold[]
      readonly timeouts: number
      readonly failures: readonly string[]
    }
  | { readonly type: 'failed'; readonly reason: string }
