import { InvalidOptionError } from './errors.ts'
import { backoff, type WaitStrategy } from './timing/backoff.ts'
import { type Duration, parseDuration } from './timing/duration.ts'
import { driftMs } from './timing/validity.ts'

/** What every acquire takes. Each but `signal` may also be set on the locker, as the default for all its calls. */
export interface AcquireOptions {
  /** How long the store keeps the lease without renewal; default 10 s. */
  readonly ttl?: Duration
  /** How long the call may wait for a held lock; default 10 s, 0 tries once. */
  readonly wait?: Duration
  /** Ends the wait; the call rejects with the signal's own reason. */
  readonly signal?: AbortSignal
  /** Renews the lease until it is released; default true. */
  readonly renew?: boolean
  /** The longest the lease may be held, however often it is renewed; default no limit. */
  readonly maxHold?: Duration
  /** A lease that arrives with less validity left is given back and counts as refused; default ttl/3. */
  readonly minValidity?: Duration
  /** How long a waiter relies on the notifier before it looks for itself; default what the notifier says. */
  readonly recheck?: Duration
  /** How a waiter without a notifier spaces its tries; default `backoff()`. */
  readonly strategy?: WaitStrategy
  /** How many store commands the call may use before it gives up; default no limit. */
  readonly budget?: number
}

/** The options of one acquire, complete and checked. */
export interface Plan {
  readonly key: string
  readonly ttlMs: number
  readonly waitMs: number
  readonly signal: AbortSignal | undefined
  readonly renew: boolean
  readonly maxHoldMs: number | undefined
  readonly minValidityMs: number
  readonly recheckMs: number | undefined
  readonly strategy: WaitStrategy
  readonly budget: number
}

/** A locker's names become part of its tokens. */
const nameForm = /^[\w-]{1,64}$/

/** The longest key, in bytes of UTF-8. */
const longestKey = 512

const optionNames = 'ttl wait signal renew maxHold minValidity recheck strategy budget'.split(' ')

/** @throws InvalidOptionError for a key that is empty, too long, or not well-formed Unicode. */
export function checkKey(key: unknown): asserts key is string {
  if (typeof key !== 'string' || key === '') throw new InvalidOptionError('key', 'must be a non-empty string')
  // A lone surrogate is sent as U+FFFD: two different keys would become one.
  if (/\p{Surrogate}/u.test(key)) throw new InvalidOptionError('key', 'must be well-formed Unicode')
  if (new TextEncoder().encode(key).length > longestKey) {
    throw new InvalidOptionError('key', `must be at most ${longestKey} bytes long`)
  }
}

/** @throws InvalidOptionError for a locker name that could not stand in a token. */
export function checkName(name: string | undefined): void {
  if (name !== undefined && !nameForm.test(name)) {
    throw new InvalidOptionError('name', 'must be 1 to 64 characters of A-Z, a-z, 0-9, "_" and "-"')
  }
}

/**
 * Checks the key and every option; later layers win.
 *
 * @throws InvalidOptionError naming the first that is unknown or bad.
 */
export function planFor(key: string, ...layers: readonly AcquireOptions[]): Plan {
  checkKey(key)
  const options: AcquireOptions = Object.assign({}, ...layers)
  for (const name of Object.keys(options)) {
    if (!optionNames.includes(name)) throw new InvalidOptionError(name, 'is not known')
  }
  const { strategy = backoff(), budget = Number.POSITIVE_INFINITY, renew = true, signal } = options
  const ttlMs = parseDuration('ttl', options.ttl ?? 10_000)
  const minValidityMs = parseDuration('minValidity', options.minValidity ?? ttlMs / 3)
  if (minValidityMs > ttlMs - driftMs(ttlMs)) {
    throw new InvalidOptionError(
      options.minValidity === undefined ? 'ttl' : 'minValidity',
      'leaves no time to hold the lease',
    )
  }
  if (!(budget >= 1)) throw new InvalidOptionError('budget', 'must be at least 1 command')
  if (typeof renew !== 'boolean') throw new InvalidOptionError('renew', 'must be true or false')
  if (typeof strategy.delayMs !== 'function') throw new InvalidOptionError('strategy', 'must be poll() or backoff()')
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new InvalidOptionError('signal', 'must be an AbortSignal')
  }
  return {
    key,
    ttlMs,
    waitMs: parseDuration('wait', options.wait ?? 10_000, 0),
    signal,
    renew,
    maxHoldMs: optional('maxHold', options.maxHold),
    minValidityMs,
    recheckMs: optional('recheck', options.recheck),
    strategy,
    budget,
  }
}

const optional = (name: string, value: Duration | undefined): number | undefined =>
  value === undefined ? undefined : parseDuration(name, value)
