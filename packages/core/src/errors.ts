import { hint, known, notInTime, unavailable, unknownOption } from '#hints'

/**
 * Every way in which a call can fail, as a closed set.
 *
 * Where contention can be an ordinary result, it is: `tryAcquire` returns null. "Somebody holds it" (`ACQUIRE_TIMEOUT`)
 * is never confused with "the store did not answer" (`STORE_UNAVAILABLE`).
 */
export type LeaseholdErrorCode =
  | 'ACQUIRE_TIMEOUT'
  | 'CLOSED'
  | 'CONTENDED'
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

/** Whether the store may have carried out a request that got no answer. */
export type Executed = 'no' | 'unknown'

const brand = Symbol.for('leasehold.error')

/**
 * The base class of every error in this SDK.
 *
 * `instanceof` compares a `Symbol.for` brand and the code rather than the prototype, so it works across two copies of the
 * package. A message says what to do. Neither the message nor the JSON of an error contains a token, a command or a credential.
 */
export class LeaseholdError extends Error {
  /** The code that `instanceof` compares. Each subclass sets its own. */
  declare static readonly code?: LeaseholdErrorCode

  declare readonly code: LeaseholdErrorCode
  /** The lock's key, if the error is about one. */
  declare readonly key?: string | undefined

  /** @param details the fields of a subclass, and its name */
  constructor(code: LeaseholdErrorCode, message: string, details?: object) {
    super(message)
    Object.assign(this, known({ name: 'LeaseholdError', code, ...details }))
    Object.defineProperty(this, brand, { value: code })
  }

  /** Name, code, message and fields. Has only the message of the cause, and leaves out the result of `withLock`. */
  toJSON(): object {
    return { ...this, message: this.message, cause: messageOf(this.cause), result: undefined }
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const code = (value as { [brand]?: LeaseholdErrorCode } | null | undefined)?.[brand]
    return !!code && code === (this.code ?? code)
  }
}

const messageOf = (cause: unknown): string | undefined => (cause as Error | undefined)?.message

/**
 * Copies an error, with the key and with the stack of the present caller. The original may have been made while a reply
 * was read, or for many callers at once, and then its stack helps none of them. An error that is not ours is returned
 * as it is.
 */
export function about(key: string, error: unknown, details?: object | false): unknown {
  if (!(error instanceof LeaseholdError)) return error
  const copy = new LeaseholdError(error.code, error.message, { ...error, key, ...details })
  return Object.setPrototypeOf(copy, Object.getPrototypeOf(error))
}

/**
 * The wait or the command budget ran out. Until then somebody held the lock, or every grant came with less than
 * `minValidity` left.
 */
export class AcquireTimeoutError extends LeaseholdError {
  static override readonly code = 'ACQUIRE_TIMEOUT' as const
  declare readonly code: 'ACQUIRE_TIMEOUT'

  declare readonly key: string
  /** How long the call waited, in whole milliseconds. */
  declare readonly waitedMs: number
  /** How many store commands the call used; 0 if it only waited in line behind other calls of its process. */
  declare readonly commands: number
  /** How many grants came with too little validity left and were given back. */
  declare readonly lateGrants: number
  /** The name of the locker last seen to hold the lock; null if it has none or the holder is another library's. */
  declare readonly holder: string | null
  /** Whether this same locker held the lock at the end. Always false on Workers, where calls share nothing. */
  declare readonly heldHere: boolean

  /** @param bounds the limits of the call, for the message */
  constructor(
    key: string,
    figures: TimeoutFigures,
    bounds?: { readonly waitMs: number; readonly budget: { readonly left: number } },
  ) {
    const { waitedMs, commands, lateGrants, holder = null, heldHere } = figures
    super('ACQUIRE_TIMEOUT', notInTime(key, figures, bounds), {
      name: 'AcquireTimeoutError',
      key,
      waitedMs,
      commands,
      lateGrants,
      holder,
      heldHere: heldHere === true,
    })
  }
}

interface TimeoutFigures {
  readonly waitedMs: number
  readonly commands: number
  readonly lateGrants: number
  readonly holder?: string | null | undefined
  readonly heldHere?: boolean | undefined
}

/** The lease ended before its holder gave it back. `reason` says why; `cause` is the underlying error, if any. */
export class LeaseLostError extends LeaseholdError {
  static override readonly code = 'LEASE_LOST' as const
  declare readonly code: 'LEASE_LOST'

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

/** The store gave no usable answer in time, or refused. `cause` has the store's own message, or the client's error. */
export class StoreUnavailableError extends LeaseholdError {
  static override readonly code = 'STORE_UNAVAILABLE' as const
  declare readonly code: 'STORE_UNAVAILABLE'

  /** `no`: the store certainly did not carry the request out. `unknown`: it may have. */
  declare readonly executed: Executed
  /** Whether the store refused for good, such as for a missing permission. Repeating the call then does not help. */
  declare readonly refused: boolean

  /**
   * @param problem what the store did or did not do
   * @param cause   why; its message becomes part of this error's message, so it must not contain a secret
   */
  constructor(problem: string, executed: Executed, cause?: unknown, refused = false) {
    super('STORE_UNAVAILABLE', unavailable(problem, messageOf(cause), refused), {
      name: 'StoreUnavailableError',
      executed,
      refused,
      cause,
    })
  }
}

/** A bad argument, refused before anything was sent. */
export class InvalidOptionError extends LeaseholdError {
  static override readonly code = 'INVALID_OPTION' as const
  declare readonly code: 'INVALID_OPTION'

  /** The option's name; `key` for a lock's key. */
  declare readonly option: string

  /** @param more a hint to add to the message, where a bundle has room for hints */
  constructor(option: string, problem: string, more = '') {
    super('INVALID_OPTION', `Option "${option}" ${problem}${more}`, { name: 'InvalidOptionError', option })
  }
}

/**
 * @param value what was given, if it may hint at what was meant
 * @throws InvalidOptionError saying what the option must be, if it is not
 */
export function demandOption(ok: boolean, option: string, must: string, value?: unknown): asserts ok {
  if (!ok) throw new InvalidOptionError(option, `must be ${must}`, hint(option, value))
}

/**
 * @param value the options again if they are those of a call: only there may a bare value be meant as a `ttl`
 * @throws InvalidOptionError for options that are not an object, such as a number
 */
export const demandObject = (options: unknown, value?: unknown): void =>
  demandOption(
    options === undefined || (typeof options === 'object' && options !== null),
    'options',
    'an object',
    value,
  )

/**
 * @param rest the options that are left once the known ones are taken out
 * @throws InvalidOptionError naming the first of them
 */
export function refuseUnknown(rest: object): void {
  for (const name of Object.keys(rest)) throw new InvalidOptionError(name, 'is not known', unknownOption(name))
}
