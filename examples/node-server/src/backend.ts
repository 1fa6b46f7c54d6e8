import type { LeaseStore, ReleaseNotifier } from '@leasehold/core'
import type { Records } from './records.ts'

/** Where the service keeps its leases and its records: always the same place, so that one cannot outlive the other. */
export interface Backend {
  readonly description: string
  readonly store: LeaseStore
  readonly notifier?: ReleaseNotifier
  readonly records: Records
  /** @throws Error if it cannot be reached now. */
  check(): Promise<void>
  close(): Promise<void>
}
