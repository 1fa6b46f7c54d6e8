/*
 * What error messages add to the facts: what was probably meant, and what to do. Under `workerd`, `edge-light` and
 * `browser`, where every byte is downloaded or adds to a cold start, the package's `imports` replace these messages
 * with the shortest ones.
 */

/**
 * Returns what the caller probably meant by a bad value, as the rest of a sentence. Empty if that is not clear.
 *
 * @param option the option that got the value
 */
export function hint(option: string, value: unknown): string {
  const meant = hints[option] ?? ((given: unknown) => (typeof given === 'string' ? durationMeant(given) : ''))
  return meant(value)
}

/** The hints for options that are not durations. */
const hints: Readonly<Record<string, (value: unknown) => string>> = {
  key: (value) => (Array.isArray(value) ? ': one key for each call' : ''),
  options: (value) => {
    if (typeof value !== 'number' && typeof value !== 'string') return ''
    return `, such as { ttl: ${JSON.stringify(value)} }; for how long to wait there is { wait: ${JSON.stringify(value)} }`
  },
  work: () => ' and the last argument: withLock(key, options, work)',
  store: (value) => {
    if (value === undefined) return ''
    const said = isClient(value) ? ' and not a client' : ''
    return `${said}: createLocker({ ...ioredisBackend(client) }), or the store of another client’s package`
  },
  notifier: (value) => {
    const { prefix, waiter } = Object(value)
    return waiter ? `, as the store; it has "${prefix}"` : ', such as that of ioredisBackend(client)'
  },
  strategy: () => ', such as poll() or backoff()',
  prefix: (value) => (value === '' ? ' and is not empty; leave it out for "lock:"' : ''),
}

/** Every Redis client has one of these methods. */
const isClient = (value: unknown): boolean =>
  ['eval', 'evalsha', 'sendCommand', 'call'].some((name) => typeof Object(value)[name] === 'function')

/** Units as people write them, and the number and unit of a `Duration` that each stands for. */
const units: readonly (readonly [name: RegExp, factor: number, unit: string])[] = [
  [/^(ms|msecs?|millis|milliseconds?)$/, 1, 'ms'],
  [/^(s|secs?|seconds?)$/, 1, 's'],
  [/^(m|mins?|minutes?)$/, 1, 'm'],
  [/^(h|hrs?|hours?)$/, 1, 'h'],
  [/^(d|days?)$/, 24, 'h'],
  [/^(w|weeks?)$/, 168, 'h'],
]

function durationMeant(text: string): string {
  const forms = '; a duration is a number of milliseconds, or text such as "250ms", "5s", "2m" or "1h"'
  const [, amount, name = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text) ?? []
  if (!amount) return /^-?\d/.test(text) ? forms : ''
  const [, factor = 1, unit] = units.find(([names]) => names.test(name.toLowerCase())) ?? []
  if (name === '') return `; write ${amount} for milliseconds, or "${amount}s" for seconds`
  const meant = unit && `${Number(amount) * factor}${unit}`
  return meant && meant !== text ? `; write "${meant}"` : forms
}

/** Returns what another library's option is called here, as the rest of a sentence. Empty if it is not known. */
export function unknownOption(name: string): string {
  const [, meaning] = otherNames.find(([names]) => names.test(name)) ?? []
  return meaning ? `; ${meaning}` : ''
}

const otherNames: readonly (readonly [names: RegExp, meaning: string])[] = [
  [
    /^(lock|lease)_?(timeout|time|duration)$|^(duration|expiry|expires?|expiresIn|ex|px|ttlMs|leaseMs)$/i,
    'it is called "ttl" here',
  ],
  [/^(acquire|wait|blocking|lockWait)?_?timeout$|^(waitTime|maxWait|waitMs|timeoutMs)$/i, 'it is called "wait" here'],
  [
    /^(retry|max|acquire)?_?(retries|retry|attempts|attemptsLimit|count)$|^retry(Count|Attempts|Limit)$|^maxRetries$/i,
    'a call tries until its "wait" is over, and "budget" limits its commands',
  ],
  [/^retry_?(delay|interval|jitter|ms|strategy)$/i, '"strategy" says how a waiter spaces its tries, such as poll()'],
  [
    /^(auto_?(extend|renew(al)?|refresh)|watchdog|heartbeat|keepAlive|refresh_?interval|automaticExtensionThreshold|extend)$/i,
    'it is called "renew" here, and is on unless you pass false',
  ],
  [/^drift(Factor|Ms)?$/i, 'clock drift is allowed for without an option'],
  [/^(identifier|owner|ownerId|holder|id)$/i, '"name" of createLocker says who holds a lock'],
  [/^(key)?prefix$/i, 'it is an option of the store and of the notifier'],
  [/^(redis|client|clients|connection)$/i, 'pass a store made from it, such as { store: ioredisStore(client) }'],
  [/^on(Lost|LockLost|Expire|Error)$/i, '"onEvent" of createLocker reports it, and lease.signal aborts on a loss'],
]

/**
 * Returns the message of a `StoreUnavailableError`: why the store did not do what it was asked, and what to do.
 *
 * @param words   the store's own message, or the client's
 * @param refused whether the store refused the request for good
 */
export function unavailable(problem: string, words = '', refused = false): string {
  const [, remedy = refused ? '' : 'check that it is reachable'] = remedies.find(([said]) => said.test(words)) ?? []
  const said = words && `: ${words.replace(/\.$/, '')}`
  return `The lock store ${problem}${said}${remedy && `; ${remedy}`}`
}

const remedies: readonly (readonly [said: RegExp, remedy: string])[] = [
  [/\bOOM\b/, 'free memory on the server, or raise its maxmemory'],
  [/\bREADONLY\b/, 'connect to the primary: a replica grants no locks'],
  [/\bLOADING\b/, 'the server is starting: try again when it has read its data'],
  [/\bBUSY\b/, 'a script keeps the server busy: try again later, or end it with SCRIPT KILL'],
  [/\b(MASTERDOWN|CLUSTERDOWN|TRYAGAIN)\b/, 'the servers are changing roles: try again in a moment'],
  [/\bNOREPLICAS\b/, 'the primary lacks replicas: bring them back, or ask for fewer'],
  [/\bMISCONF\b/, 'the server cannot write its data to disk: see its log'],
  [/\b(NOAUTH|WRONGPASS)\b/, 'check user and password'],
  [/\bNOPERM\b|no permission/i, 'give the user the permissions that the documentation of the store names'],
  [/\bHTTP 429\b|max(imum)? (daily |monthly )?requests?/i, 'it limits requests: ask less often, or raise the limit'],
  [/unknown command|unknown subcommand/i, 'it needs Redis 6.2 or later, or Valkey, with scripts allowed'],
  [/; check |; send /, ''],
]

/** Leaves out fields that are not known, which would be printed as undefined. */
export const known = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** Returns the message of an `AcquireTimeoutError`: why the lock was not granted in time, and what to do. */
export function notInTime(key: string, figures: Figures, { waitMs, budget }: Bounds = {}): string {
  const { waitedMs, commands, lateGrants, holder, heldHere } = figures
  const lock = `Lock "${key}"`
  const used = commands > 0 ? ` and ${commands} command${commands === 1 ? '' : 's'}` : ''
  if (lateGrants > 0) {
    const times = lateGrants === 1 ? 'once' : `${lateGrants} times`
    return `${lock} was granted too late to be of use, ${times}, in ${waitedMs} ms${used}; allow a longer ttl or less minValidity`
  }
  const held = `${lock} is held by ${heldHere ? 'this locker itself' : holder ? `"${holder}"` : 'another holder'}`
  const remedy = heldHere ? 'release the lease that it has' : 'see inspect() for what is known of it'
  if (waitMs === 0) return `${held}, and a call with wait: 0 tries once; allow a longer wait, or ${remedy}`
  if (budget && budget.left < 1) {
    return `${held}, and the call has spent its budget${used.replace(' and', ' of')} in ${waitedMs} ms; allow a larger budget, let the bridge wake waiters, or ${remedy}`
  }
  return `${held} after ${waitedMs} ms${used}; allow a longer wait, or ${remedy}`
}

interface Figures {
  readonly waitedMs: number
  readonly commands: number
  readonly lateGrants: number
  readonly holder?: string | null | undefined
  readonly heldHere?: boolean | undefined
}

interface Bounds {
  readonly waitMs?: number
  readonly budget?: { readonly left: number }
}

/** The part of a lease that is printed. It contains no secrets and nothing internal. */
interface Printed {
  readonly key: string
  readonly fence: number
  readonly waitedMs: number
  readonly commands: number
  remaining(): number
}

/** Makes `JSON.stringify` and Node's `console.log` show a lease's remaining time beside its plain fields. */
export function printLeases({ prototype }: { readonly prototype: Printed }): void {
  const print = function (this: Printed): object {
    const { key, fence, waitedMs, commands } = this
    return { key, fence, waitedMs, commands, remainingMs: Math.floor(this.remaining()) }
  }
  for (const name of ['toJSON', Symbol.for('nodejs.util.inspect.custom')]) {
    Object.defineProperty(prototype, name, { value: print })
  }
}
