import { createLocker, type Locker, type LockerEvent, type LockerOptions } from '@leasehold/core'
import type { ReleaseNotifier } from '@leasehold/core/adapter'
import { ManualClock } from './manual-clock.ts'
import { ScriptedStore } from './scripted-store.ts'
import { follow } from './settlement.ts'

/** The options of a locker. By default it gets a manual clock, and a scripted store over memory. */
export interface TestLockerOptions<N extends ReleaseNotifier | undefined = undefined>
  extends Omit<LockerOptions, 'store' | 'clock' | 'notifier'> {
  readonly store?: ScriptedStore | undefined
  readonly clock?: ManualClock | undefined
  /** Default: none, so that waiters poll. */
  readonly notifier?: N
}

/** A locker, with what a test controls and reads around it. */
export interface TestLocker<N extends ReleaseNotifier | undefined = undefined> extends AsyncDisposable {
  readonly locks: Locker
  /** A locker that acts as another process, on the same store and clock: without a notifier or your options. */
  readonly elsewhere: Locker
  readonly store: ScriptedStore
  readonly clock: ManualClock
  readonly notifier: N
  /** The events of `locks`, in order. */
  readonly events: readonly LockerEvent[]
  /** The events of one type, in order. */
  eventsOf<T extends LockerEvent['type']>(type: T): readonly EventOf<T>[]
  /**
   * Closes both lockers without grace. Advances the clock as far as that takes: until the last call is given up.
   *
   * @throws an Error if a minute on the clock is not enough
   */
  close(): Promise<void>
}

/** The event of one type. */
export type EventOf<T extends LockerEvent['type']> = Extract<LockerEvent, { readonly type: T }>

/** How long a locker may take to close, and how far the clock advances between two checks, in milliseconds. */
const closedWithinMs = 60_000
const stepMs = 100

/** A locker on a manual clock and a scripted store, whose events are recorded. */
export function testLocker<N extends ReleaseNotifier | undefined = undefined>(
  options: TestLockerOptions<N> = {},
): TestLocker<N> {
  const { clock = new ManualClock(), store = new ScriptedStore(clock), notifier, onEvent, ...defaults } = options
  const events: LockerEvent[] = []
  const record = (event: LockerEvent): void => {
    events.push(event)
    onEvent?.(event)
  }
  const locks = createLocker({ ...defaults, store, clock, notifier, onEvent: record })
  const elsewhere = createLocker({ store, clock })

  async function close(): Promise<void> {
    const closing = follow(Promise.all([locks, elsewhere].map((each) => each.close({ grace: 0 }))), clock)
    for (let passedMs = 0; closing.state === 'pending' && passedMs < closedWithinMs; passedMs += stepMs) {
      await clock.advance(stepMs)
    }
    if (closing.state === 'rejected') throw closing.reason
    if (closing.state === 'pending') throw new Error(`The lockers did not close within ${closedWithinMs} ms`)
  }

  return {
    locks,
    elsewhere,
    store,
    clock,
    notifier: notifier as N,
    events,
    eventsOf: <T extends LockerEvent['type']>(type: T) =>
      events.filter((event): event is EventOf<T> => event.type === type),
    close,
    [Symbol.asyncDispose]: close,
  }
}
