import { demandObject, demandOption, InvalidOptionError, refuseUnknown } from './errors.ts'
import { checkKey } from './store/key.ts'
import { backoff, type WaitStrategy } from './timing/backoff.ts'
import { type Duration, parseDuration } from './timing/duration.ts'
import { driftMs } from './timing/validity.ts'
import type { WaitPlan } from './waiting/release-notifier.ts'
import type { Watchdog } from './watchdog.ts'

/** The options of every acquire. All except `signal` may also be set on the locker, as defaults for all its calls. */
export interface AcquireOptions {
  /** How long the store keeps the lease without renewal; default 10 s. */
  readonly ttl?: Duration | undefined
  /** How long the call may wait for a held lock; default 10 s, 0 tries once. */
  readonly wait?: Duration | undefined
  /** Ends the wait when aborted. The call then rejects with the signal's own reason. */
  readonly signal?: AbortSignal | undefined
  /**
   * Renews the lease until it is released; default true. A `Watchdog` renews it elsewhere, and needs a `ttl` of at least its
   * `minTtlMs`.
   */
  readonly renew?: boolean | Watchdog | undefined
  /** The longest the lease may be held, however often it is renewed; default no limit. */
  readonly maxHold?: Duration | undefined
  /** The least validity of a new lease. One with less is given back, and the call tries again; default ttl/3. */
  readonly minValidity?: Duration | undefined
  /** How long a lease is held before the event `long-held`, which repeats each time that doubles; default 1 minute. */
  readonly longHeld?: Duration | undefined
  /** How long a waiter relies on the notifier before it checks by itself; default: the notifier's own value. */
  readonly recheck?: Duration | undefined
  /** How a waiter without a notifier spaces its tries; default `backoff()`. */
  readonly strategy?: WaitStrategy | undefined
  /** How many store commands the call may use before it gives up; default no limit. Calls may share a {@link Budget}. */
  readonly budget?: number | Budget | undefined
  /** The order of waiters: `fifo()` or `priority()` of `@leasehold/core/queue`; default whoever asks first. */
  readonly queue?: Queue | undefined
}

/** An order in which waiters get a lock, kept by the store. */
export interface Queue {
  /** For core only: the shared state of a locker, with this queue in place. */
  readonly sharedFor: (shared: never) => unknown
}

/**
 * Store commands that several calls share, for runtimes that limit what a request may send. When none are left, waits
 * end with `AcquireTimeoutError`, and calls that begin later are refused with an `InvalidOptionError` for `budget`.
 */
export interface Budget {
  /**
   * How many are left. Each try or check of an acquire, a claim or a resume uses one. Releases and renewals use none
   * and are never refused.
   */
  left: number
}

/** The options of one acquire, with defaults filled in and checked. */
export interface Plan extends WaitPlan {
  readonly ttlMs: number
  readonly waitMs: number
  readonly signal: AbortSignal | undefined
  readonly renew: boolean | Watchdog
  readonly maxHoldMs: number | undefined
  readonly minValidityMs: number
  readonly longHeldMs: number
  readonly budget: Budget
  readonly queue: Queue | undefined
  /** How many store commands the call has used so far. */
  commands: number
}

const defaultStrategy = backoff()

/** A locker's name becomes part of its tokens. */
const nameForm = /^[\w-]{1,64}$/

/** @throws InvalidOptionError for a locker name that cannot be part of a token */
export function checkName(name: string | undefined): void {
  demandOption(
    name === undefined || (typeof name === 'string' && nameForm.test(name)),
    'name',
    '1 to 64 of A-Z a-z 0-9 _ -',
  )
}

/**
 * The options of a call, with defaults filled in and checked. The key is empty. Settings have every field of a plan,
 * because spreading an object and adding fields to it takes 6 µs on Node 20.
 */
export interface Settings extends Omit<Plan, 'budget'> {
  readonly budget: number | Budget
}

/**
 * Checks the key and makes the plan of one call.
 *
 * @param waitMs how long the call may wait, in milliseconds; default what the settings say
 * @throws InvalidOptionError for a bad key, or a shared budget that is used up
 */
export function planFor(key: string, settings: Settings, waitMs: number = settings.waitMs): Plan {
  checkKey(key)
  return { ...settings, key, waitMs, budget: budgetOf(settings.budget) }
}

/** @throws InvalidOptionError for a budget that allows no command. A shared one may have been used up. */
function budgetOf(given: number | Budget): Budget {
  const budget = typeof given === 'number' ? { left: given } : given
  const left: unknown = Object(budget).left
  demandOption(
    typeof left === 'number' && left >= 1,
    'budget',
    'at least 1; if it is used up, let the bridge wake waiters',
  )
  return budget
}

/** Returns the settings of a call. For calls without options of their own, they are checked once. */
export type CallSettings = (options?: AcquireOptions) => Settings

/** @throws InvalidOptionError naming the first shared option that is unknown or bad; the result does so for a call's */
export function callSettings(...shared: readonly (AcquireOptions | undefined)[]): CallSettings {
  const own = settingsOf(...shared)
  return (options) => (options === undefined ? own : settingsOf(...shared, options))
}

/**
 * Checks options that will be passed to calls later, so that a mistake shows when the program starts.
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function checkAcquireOptions(options: AcquireOptions): void {
  settingsOf(options)
}

/**
 * Checks every option. Later layers win.
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
function settingsOf(...layers: readonly (AcquireOptions | undefined)[]): Settings {
  const {
    ttl = 10_000,
    wait = 10_000,
    signal,
    renew = true,
    maxHold,
    minValidity,
    longHeld = 60_000,
    recheck,
    strategy = defaultStrategy,
    // Calls share it. It stays infinite, however much they use.
    budget = { left: Infinity },
    queue,
    ...unknown
  } = merged(layers)
  refuseUnknown(unknown)
  const { minTtlMs, watchFor } = Object(renew) as Partial<Watchdog>
  demandOption(!!watchFor || typeof renew === 'boolean', 'renew', 'true, false or a watchdog')
  demandOption(typeof strategy?.delayMs === 'function', 'strategy', 'an object with delayMs', strategy)
  // Only checked here: a number gives each call a budget of its own.
  budgetOf(budget)
  demandOption(queue === undefined || !!Object(queue).sharedFor, 'queue', 'fifo() or priority()')
  demandOption(signal === undefined || signal instanceof AbortSignal, 'signal', 'an AbortSignal')

  const ttlMs = parseDuration('ttl', ttl, minTtlMs)
  const minValidityMs = parseDuration('minValidity', minValidity ?? ttlMs / 3)
  if (minValidityMs > ttlMs - driftMs(ttlMs)) {
    throw new InvalidOptionError(
      minValidity === undefined ? 'ttl' : 'minValidity',
      'leaves no time; allow a longer ttl',
    )
  }
  return {
    ttlMs,
    waitMs: parseDuration('wait', wait, 0),
    signal,
    renew,
    maxHoldMs: optional('maxHold', maxHold),
    minValidityMs,
    longHeldMs: parseDuration('longHeld', longHeld),
    recheckMs: optional('recheck', recheck),
    strategy,
    budget,
    queue,
    key: '',
    commands: 0,
  }
}

/** Merges layers of options. Later layers win, but an undefined value does not override an earlier one. */
function merged(layers: readonly (AcquireOptions | undefined)[]): AcquireOptions {
  const options: Record<string, unknown> = {}
  for (const layer of layers) {
    demandObject(layer, layer)
    for (const [name, value] of Object.entries(layer ?? {})) options[name] = value === undefined ? options[name] : value
  }
  return options
}

const optional = (name: string, value: Duration | undefined): number | undefined =>
  value === undefined ? undefined : parseDuration(name, value)
