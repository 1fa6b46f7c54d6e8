import { type Clock, type Duration, parseDuration, systemClock } from '@leasehold/core'
import { demandOption, type LeaseStore, refuseUnknown } from '@leasehold/core/adapter'
import { defaultGrace, defaultMinTtl, defaultMostLeases } from './figures.ts'

/** The settings of a watchdog. */
export interface WatchdogSettings {
  /** Where the leases are: the store of the lockers that take them, with the same prefix. */
  readonly store: LeaseStore
  /**
   * How long a lease is renewed after its Worker's request has ended, or after a restart of the object, unless the Worker links
   * again; default 15 s. After that the ttl frees the lock.
   */
  readonly grace?: Duration | undefined
  /** The shortest ttl, as in `watchdog`; default 2 minutes. Only tests lower it. */
  readonly minTtl?: Duration | undefined
  /** The most leases of one object; default 1,000. More are refused: spread them with `shards`. */
  readonly mostLeases?: number | undefined
  /** The clock; default: the runtime's. */
  readonly clock?: Clock | undefined
}

export interface CheckedSettings {
  readonly store: LeaseStore
  readonly graceMs: number
  readonly minTtlMs: number
  readonly mostLeases: number
  readonly clock: Clock
}

/** @throws InvalidOptionError for a bad setting */
export function checkSettings(settings: WatchdogSettings): CheckedSettings {
  const { store, grace, minTtl, mostLeases = defaultMostLeases, clock = systemClock, ...rest } = settings
  refuseUnknown(rest)
  demandOption(typeof store?.renew === 'function', 'store', 'a store', store)
  demandOption(Number.isInteger(mostLeases) && mostLeases > 0, 'mostLeases', 'a whole number above 0')
  return {
    store,
    graceMs: parseDuration('grace', grace ?? defaultGrace, 0),
    minTtlMs: parseDuration('minTtl', minTtl ?? defaultMinTtl),
    mostLeases,
    clock,
  }
}
