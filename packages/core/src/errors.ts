/**
 * Every way a call can fail, as a closed set.
 *
 * Contention is an answer where it can be one (`tryAcquire` returns `null`), and "someone holds it"
 * (`ACQUIRE_TIMEOUT`) is never confused with "the store did not answer" (`STORE_UNAVAILABLE`).
 */
export type LeaseholdErrorCode =
  | 'ACQUIRE_TIMEOUT'
  | 'CLOSED'
  | 'INVALID_OPTION'
  | 'KIND_MISMATCH'
  | 'LEASE_LOST'
  | 'LEASE_RELEASED'
  | 'STORE_UNAVAILABLE'

/**
 * Why a lease was lost.
 *
 * - `expired`: our own clock says its validity is over
 * - `superseded`: the store has another holder's token
 * - `gone`: the entry is missing before its time (revoked, evicted, flushed, failed over)
 * - `unreachable`: renewals stayed unanswered until the validity was over
 * - `max-hold`: the lease reached its `maxHold`
 * - `closed`: the locker was closed and its grace ended before the work did
 */
export type LossReason = 'expired' | 'superseded' | 'gone' | 'unreachable' | 'max-hold' | 'closed'

/** Whether a request without an answer may have been carried out by the store. */
export type Executed = 'no' | 'unknown'

const brand = Symbol.for('leasehold.error')

/**
 * The base of every error of this SDK.
 *
 * `instanceof` compares a `Symbol.for` brand and the code rather than the prototype, so it holds across two
 * copies of the package. A message says what to do and never contains a token, a command or a credential.
 */
export class LeaseholdError extends Error {
  /** The code that `instanceof` asks for; a subclass sets its own. */
  declare static readonly code?: LeaseholdErrorCode

  declare readonly code: LeaseholdErrorCode

  /** @param details the fields of a subclass, and its name */
  constructor(code: LeaseholdErrorCode, message: string, details?: object) {
    super(message)
    Object.assign(this, { name: 'LeaseholdError', code }, details)
    Object.defineProperty(this, brand, { value: code })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const code = (value as { [brand]?: LeaseholdErrorCode } | null | undefined)?.[brand]
    return !!code && code === (this.code ?? code)
  }
}

/**
 * The wait was over (or its command budget spent) and the lock was still held by someone else, or each grant came with less
 * than `minValidity` left.
 */
export class AcquireTimeoutError extends LeaseholdError {
  static override readonly code = 'ACQUIRE_TIMEOUT' as const

  declare readonly key: string
  /** How long the call waited, in milliseconds. */
  declare readonly waitedMs: number
  /** How many store commands the call used. */
  declare readonly commands: number
  /** How many grants came with too little validity left, and were given back. */
  declare readonly lateGrants: number

  constructor(key: string, waitedMs: number, commands: number, lateGrants = 0) {
    const [what, remedy] =
      lateGrants > 0
        ? [`granted too late to be of use, ${lateGrants} times,`, 'a longer ttl or less minValidity']
        : ['still held', 'more of either']
    super(
      'ACQUIRE_TIMEOUT',
      `Lock "${key}" was ${what} after ${Math.round(waitedMs)} ms and ${commands} commands; allow ${remedy}`,
      { name: 'AcquireTimeoutError', key, waitedMs, commands, lateGrants },
    )
  }
}

/** The lease ended before its holder gave it back. `reason` says why; `cause` is the error behind it, if there is one. */
export class LeaseLostError extends LeaseholdError {
  static override readonly code = 'LEASE_LOST' as const

  declare readonly key: string
  declare readonly reason: LossReason
  /** From `withLock`: what the work returned although its lease was lost meanwhile. */
  declare readonly result: unknown

  constructor(key: string, reason: LossReason, cause?: unknown, result?: unknown) {
    super('LEASE_LOST', `The lease of "${key}" was lost (${reason}); stop its work`, {
      name: 'LeaseLostError',
      key,
      reason,
      cause,
      result,
    })
  }
}

/** The store gave no usable answer in time; `cause` has the client's error where there was one. */
export class StoreUnavailableError extends LeaseholdError {
  static override readonly code = 'STORE_UNAVAILABLE' as const

  /** `no`: the store certainly did not carry the request out. `unknown`: it may have. */
  declare readonly executed: Executed

  /** @param problem what the store did or did not do, and what to do about it */
  constructor(problem: string, executed: Executed, cause?: unknown) {
    super('STORE_UNAVAILABLE', `The lock store ${problem}`, {
      name: 'StoreUnavailableError',
      executed,
      cause,
    })
  }
}

/** A bad argument, refused before anything was sent. */
export class InvalidOptionError extends LeaseholdError {
  static override readonly code = 'INVALID_OPTION' as const

  /** The option's name; `key` for a lock's key. */
  declare readonly option: string

  constructor(option: string, problem: string) {
    super('INVALID_OPTION', `Option "${option}" ${problem}`, { name: 'InvalidOptionError', option })
  }
}

/** @throws InvalidOptionError saying what the option must be, unless it is */
export function demandOption(fine: boolean, option: string, must: string): asserts fine {
  if (!fine) throw new InvalidOptionError(option, `must be ${must}`)
}
