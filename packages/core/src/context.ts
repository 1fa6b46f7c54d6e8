import type { OnEvent } from './events.ts'
import type { LeaseStore } from './lease-store.ts'
import type { ReleaseNotifier } from './release-notifier.ts'
import type { Clock } from './timing/clock.ts'

/** What the parts of one locker work with. */
export interface Context {
  readonly store: LeaseStore
  readonly notifier: ReleaseNotifier | undefined
  readonly clock: Clock
  readonly name: string | undefined
  readonly onEvent: OnEvent | undefined
  /** Keeps track of clean-up that no caller waits for, so that `close` can. */
  background(task: Promise<unknown>): void
}
