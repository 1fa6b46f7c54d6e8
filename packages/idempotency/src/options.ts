import { type Clock, type Duration, type Locker, systemClock } from '@leasehold/core'
import { checkAcquireOptions, demandObject, demandOption, parseDuration, refuseUnknown } from '@leasehold/core/adapter'
import { checkClaims, mostResultBytes } from '@leasehold/core/records'
import { type EndingRules, type Endings, endingRules } from './endings.ts'
import type { IdempotencyEvent } from './events.ts'
import * as figures from './figures.ts'
import type { DoubtPolicy } from './in-doubt.ts'
import { keptHeaders } from './kept-headers.ts'

/** Functions are called with the web request, but `scope` with what a framework has in its place. */
export interface IdempotentOptions<Asked = Request> {
  /**
   * Records are kept in this locker's store. The stores of `@leasehold/ioredis`, `@leasehold/node-redis` and
   * `@leasehold/upstash` and the embedded one can do so.
   */
  readonly locks: Locker
  /**
   * Whose keys these are, such as the tenant or the user: text, or a function of the original request, or of what a
   * framework has in its place. Two callers with the same scope share their keys, and one may get the other's answer.
   * So an empty scope is refused with a 500. Unknown callers share a scope only if you name one for them, such as
   * `'anonymous'`. What the function throws goes to the caller of the handle.
   */
  readonly scope: string | ((request: Asked) => string | Promise<string>)
  /** Whether a request must have a key; default true. If false, a request without one passes through unguarded. */
  readonly required?: boolean | undefined
  /** The methods that are guarded; default `POST` and `PATCH`. All others pass through. */
  readonly methods?: readonly string[] | undefined
  /** The longest key, in characters; default 255, which is also the most. */
  readonly longestKey?: number | undefined
  /** The largest body of a request, in bytes; default 1 MiB. */
  readonly largestBody?: number | undefined
  /** How long the client may take to send its body; default 30 s. */
  readonly bodyWithin?: Duration | undefined
  /**
   * What makes two requests the same; default: the method, the path with its query, the media type, and the body, with
   * JSON compared by its meaning. What the function returns is hashed.
   */
  readonly fingerprint?:
    | ((request: Request, body: Uint8Array) => string | Uint8Array | Promise<string | Uint8Array>)
    | undefined
  /** How long a request waits to get the answer of a run under way; default 0, which answers 409 at once. */
  readonly wait?: Duration | undefined
  /** How long the lease of a run lasts without renewal: after a crash the key is in doubt that much later. Default 30 s. */
  readonly ttl?: Duration | undefined
  /** How long an answer is kept; default 24 h. */
  readonly keep?: Duration | undefined
  /**
   * How long a run that died leaves its key in doubt, from the end of its lease: at least this long, and at most about
   * a third longer. Default 1 h.
   */
  readonly inDoubtFor?: Duration | undefined
  /** What to do about a key in doubt; default `reject`. */
  readonly inDoubt?: DoubtPolicy | undefined
  /** What becomes of a key once its work has ended, by status; see {@link Endings}. */
  readonly endings?: Endings | undefined
  /** Names of headers to replay besides the usual ones. `Set-Cookie` and headers of one connection are refused. */
  readonly headers?: readonly string[] | undefined
  /** The largest answer that is kept, in bytes, with its headers; default 512 KiB, which is the most that a record takes. */
  readonly largestResult?: number | undefined
  /** How long reading an answer's body for its record may take; default 10 s. */
  readonly resultWithin?: Duration | undefined
  /** What the `type` of each problem begins with; default `/problems/`. */
  readonly problems?: string | undefined
  /** Called with what needs attention. Its errors are ignored. */
  readonly onEvent?: ((event: IdempotencyEvent) => void) | undefined
  /** Default: the runtime's. */
  readonly clock?: Clock | undefined
}

/** The options, complete and checked. */
export interface Settings {
  readonly locks: Locker
  /** Each call of the handle says what it is called with. */
  readonly scope: IdempotentOptions<never>['scope']
  readonly required: boolean
  readonly methods: ReadonlySet<string>
  readonly longestKey: number
  readonly largestBody: number
  readonly bodyWithinMs: number
  readonly fingerprint: IdempotentOptions['fingerprint']
  readonly claim: { readonly wait: Duration; readonly ttl: Duration; readonly inDoubtFor: Duration | undefined }
  readonly keep: Duration | undefined
  readonly inDoubt: DoubtPolicy
  readonly endings: EndingRules
  /** The names of all headers that are kept. */
  readonly headers: readonly string[]
  readonly largestResult: number
  readonly resultWithinMs: number
  readonly problems: string
  readonly onEvent: IdempotentOptions['onEvent']
  readonly clock: Clock
}

/** @throws InvalidOptionError naming the first option that is unknown or bad */
export function settingsOf<Asked>(options: IdempotentOptions<Asked>): Settings {
  demandObject(options)
  const { locks, ...rest } = options ?? {}
  const settings = ownSettings(rest)
  // A budget that is used up by now is no mistake. Each request is told so.
  checkClaims(locks, { ...settings.claim, budget: 1 })
  return { locks, ...settings }
}

/**
 * Checks the options of `idempotent` without a locker, for code that gets its locker with each request and should
 * report a mistake earlier.
 *
 * @example
 * ```ts
 * checkIdempotentOptions({ scope: 'shop', wait: '5s' })
 * ```
 *
 * @throws InvalidOptionError naming the first option that is unknown or bad
 */
export function checkIdempotentOptions<Asked = Request>(options: Omit<IdempotentOptions<Asked>, 'locks'>): void {
  demandObject(options)
  const { ttl, wait, inDoubtFor } = ownSettings(options ?? {}).claim
  checkAcquireOptions({ ttl, wait })
  if (inDoubtFor !== undefined) parseDuration('inDoubtFor', inDoubtFor)
}

function ownSettings<Asked>(options: Omit<IdempotentOptions<Asked>, 'locks'>): Omit<Settings, 'locks'> {
  const {
    scope,
    required = true,
    methods = ['POST', 'PATCH'],
    longestKey = figures.longestKey,
    largestBody = figures.largestBody,
    bodyWithin = figures.bodyWithin,
    fingerprint,
    wait = 0,
    ttl = figures.runTtl,
    keep,
    inDoubtFor,
    inDoubt = 'reject',
    endings,
    headers = [],
    largestResult = mostResultBytes,
    resultWithin = figures.resultWithin,
    problems = '/problems/',
    onEvent,
    clock = systemClock,
    ...unknown
  } = options
  refuseUnknown(unknown)
  const isFunction = (value: unknown): boolean => typeof value === 'function'
  demandOption((typeof scope === 'string' && scope !== '') || isFunction(scope), 'scope', 'text, or a function')
  demandOption(typeof required === 'boolean', 'required', 'true or false')
  demandOption(fingerprint === undefined || isFunction(fingerprint), 'fingerprint', 'a function')
  demandOption(onEvent === undefined || isFunction(onEvent), 'onEvent', 'a function')
  const knows = inDoubt === 'reject' || inDoubt === 'rerun' || isFunction(inDoubt)
  demandOption(knows, 'inDoubt', '"reject", "rerun" or a function')
  demandOption(typeof problems === 'string', 'problems', 'text')
  if (keep !== undefined) parseDuration('keep', keep)
  return {
    scope,
    required,
    methods: names('methods', methods, (name) => name.toUpperCase()),
    longestKey: count('longestKey', longestKey, figures.longestKey),
    largestBody: count('largestBody', largestBody, Number.MAX_SAFE_INTEGER),
    bodyWithinMs: parseDuration('bodyWithin', bodyWithin),
    fingerprint,
    claim: { wait, ttl, inDoubtFor },
    keep,
    inDoubt,
    endings: endingRules(endings),
    headers: keptHeaders(names('headers', headers, (name) => name.toLowerCase())),
    largestResult: count('largestResult', largestResult, mostResultBytes),
    resultWithinMs: parseDuration('resultWithin', resultWithin),
    problems,
    onEvent,
    clock,
  }
}

function count(option: string, value: number, most: number): number {
  demandOption(Number.isInteger(value) && value > 0 && value <= most, option, `a whole number from 1 to ${most}`)
  return value
}

function names(option: string, given: readonly string[], spell: (name: string) => string): ReadonlySet<string> {
  const fits =
    Array.isArray(given) && given.every((name) => typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(name))
  demandOption(fits, option, 'a list of names')
  return new Set(given.map(spell))
}
