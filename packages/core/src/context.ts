import type { OnEvent } from './events.ts'
import type { OpenWork } from './open-work.ts'
import type { Home } from './sharing/home-context.ts'
import type { Calls } from './store/calls.ts'
import type { LeaseStore } from './store/lease-store.ts'
import type { Clock } from './timing/clock.ts'
import type { ReleaseNotifier } from './waiting/release-notifier.ts'

/** State that the parts of one locker share. */
export interface Context {
  readonly store: LeaseStore
  readonly notifier: ReleaseNotifier | undefined
  readonly clock: Clock
  readonly name: string | undefined
  readonly work: OpenWork
  /** Sends requests to the store. Those made in the same turn share a command. */
  readonly calls: Calls
  /** Runs a task a moment later, in the async context in which the locker was made. For work that outlives the call. */
  readonly home: Home
  /** The same clock, with timers that run in that context. */
  readonly background: Clock
  /** Calls the locker's listener and never throws. Undefined without a listener. */
  readonly emit: OnEvent | undefined
}
