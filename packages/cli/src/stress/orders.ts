import type { ConnectionSettings } from '../connection/settings.ts'

/** What a process of `stress` is told, by a message: a command line could be read by others. */
export interface StressOrders {
  readonly settings: ConnectionSettings
  readonly key: string
  /** How many of its calls contend at once. */
  readonly callers: number
  readonly forMs: number
  /** The longest hold; each is of a random length up to it. */
  readonly holdMs: number
  readonly ttlMs: number
}

/** One hold, in nanoseconds of the clock that all processes of the machine share. */
export interface Hold {
  readonly enteredNs: number
  /** When the holder stopped trusting it: at its release, or when its signal told that it is lost. */
  readonly leftNs: number
  readonly fence: number
  readonly waitedMs: number
  readonly isLost: boolean
}

/** What a process answers: that it is connected, and at the end what it did. */
export type StressReport =
  | { readonly type: 'ready' }
  | {
      readonly type: 'done'
      readonly holds: readonly Hold[]
      readonly timeouts: number
      readonly failures: readonly string[]
    }
  | { readonly type: 'failed'; readonly reason: string }
