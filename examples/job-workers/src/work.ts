import { setTimeout as pause } from 'node:timers/promises'
import type { Locker } from '@leasehold/core'
import type { Ledger } from './ledger.ts'

/** What every job needs. */
export interface Worker {
  readonly name: string
  readonly locks: Locker
  readonly ledger: Ledger
  /** Stands in for real work: it takes time, and can be stopped. */
  work(signal: AbortSignal): Promise<void>
}

/** @param workMs how long the work takes, in milliseconds */
export const work =
  (workMs: number): Worker['work'] =>
  (signal) =>
    pause(workMs, undefined, { signal })
