import { sharesBetweenCalls } from '#sharing'
import type { Context } from '../context.ts'
import { demandObject, demandOption } from '../errors.ts'
import { sharedOf } from '../key-locker.ts'
import type { Locker } from '../locker.ts'
import { type AcquireOptions, callSettings, planFor } from '../options.ts'
import { claiming } from '../records/claim-record.ts'
import { recordsOf } from '../records/records-of.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { unlimitedMs } from '../timing/figures.ts'
import { defaultKeep, defaultWait, fingerprint } from './figures.ts'
import { Flight } from './flight.ts'
import { fromBytes } from './json-result.ts'
import type { OnceWork } from './run.ts'

/**
 * The options of `once`: those of an acquire, except `queue`, and how long the result is kept. `wait` defaults to 2
 * min.
 */
export interface OnceOptions extends Omit<AcquireOptions, 'queue'> {
  /**
   * How long the store keeps the result; default 1 min. Until then, calls find it, and the next one after that runs the
   * work again. Make it a few seconds at least: a waiter elsewhere that nobody wakes has to find it, too.
   */
  readonly keep?: Duration | undefined
}

/**
 * Runs work for all calls that ask for it at the same time, here and in other processes, and gives each of them the
 * result. Calls that come before `keep` is over get it as well.
 *
 * **The work must be idempotent.** It is run once unless something goes wrong: a run that dies is replaced, and may
 * already have had its effect. A run that froze and was replaced may go on beside its replacement until its `signal`
 * stops it; a resource that checks `fence` refuses it. All calls for a key must ask for the same work: of the calls
 * that meet, only one call's work and options count, except `wait`, `budget` and `signal`, which are each call's own.
 * The work must not ask for its own key: it would wait for itself.
 *
 * - **The result** is plain JSON data of at most 64 KiB, or undefined. Each caller gets a copy of its own. Anything
 *   else counts as an error of the work, and nobody gets it.
 * - **An error** is not kept. Callers in the same process share it. Elsewhere, the next waiter runs its own work.
 * - **`wait`** is how long a call waits for a run that is not its own; by default the locker's, or else 2 min. A run
 *   has all the time that it takes, and one that dies is replaced when its lease is over. 0 asks the store once, and
 *   runs the work unless a run is under way.
 * - **`budget`** is the call's own. So a call that has one, or whose locker has one, claims and waits for itself, as
 *   where calls share nothing.
 * - **`signal`** ends the call. The run goes on for the other callers of this process, and is told to stop when the
 *   last has left.
 * - **A run that was replaced** while it was frozen gives its callers the result of the run that replaced it. The
 *   locker's events say `lost`, and then `released` with the outcome `superseded`.
 * - **Without an answer to its completion**, a run gives its callers the result, and the completion is repeated for the
 *   rest of the lease. Others may run the work again after that, and also if the server has no room for the result.
 *
 * Where calls share nothing, as on Workers, each call claims and waits for itself.
 *
 * @example
 * ```ts
 * const report = await once(locks, 'report:2026-11', ({ signal }) => build('2026-11', signal), { keep: '1h' })
 * ```
 *
 * @throws the work's own error
 * @throws AcquireTimeoutError if another run was still going on when the wait or the budget ran out
 * @throws StoreUnavailableError when the store did not answer for a command deadline, or until the wait was over
 * @throws InvalidOptionError for a bad key or option, a locker whose store offers no records, or a result that cannot
 *   be kept
 * @throws LeaseholdError with code `CLOSED` once the locker is closed
 * @throws LeaseholdError with code `KIND_MISMATCH` if the key or its record holds something else, such as a record of
 *   `claimRecord`
 * @throws the signal's own reason when `signal` is aborted
 */
export async function once<T>(locks: Locker, key: string, work: OnceWork<T>, options?: OnceOptions): Promise<T> {
  const shared = sharedOf(locks)
  demandOption(
    shared !== undefined && recordsOf(shared.context.store) !== undefined,
    'locks',
    'a locker whose store offers records',
  )
  demandOption(typeof work === 'function', 'work', 'a function')
  demandObject(options)
  const { keep = defaultKeep, ...rest } = options ?? {}
  demandOption((rest as AcquireOptions).queue === undefined, 'queue', 'left out: whoever asks first runs')
  const { waitMs, budget, signal } = planFor(key, callSettings({ wait: defaultWait }, shared.defaults, rest)())
  const call = { work, keepMs: parseDuration('keep', keep), waitMs, budget, signal }
  signal?.throwIfAborted()
  const { context } = shared
  context.work.assertOpen()

  // A call that does not wait asks the store itself: a run that is under way here would be no answer. So does one with
  // a budget, which must not end the calls of others.
  const isShared = waitMs > 0 && budget.left === Infinity && sharesBetweenCalls()
  const flights = isShared ? flightsOf(context) : new Map<string, Flight>()
  const known = flights.get(key)
  if (known) return fromBytes(await known.join(call)) as T

  const forget = (): void => {
    if (flights.get(key) === flight) flights.delete(key)
  }
  const claim = (ends: AbortSignal): ReturnType<typeof claiming> =>
    claiming(locks, key, { ...rest, wait: waitMs && unlimitedMs, budget, signal: ends, fingerprint, rerun: true })
  const flight = new Flight(context, key, claim, forget)
  flights.set(key, flight)
  const result = flight.join(call)
  void flight.run(call)
  return fromBytes(await result) as T
}

/** The flights of each locker, by key. Each is removed when it is over. */
const flightsByLocker = new WeakMap<Context, Map<string, Flight>>()

function flightsOf(context: Context): Map<string, Flight> {
  const known = flightsByLocker.get(context) ?? new Map<string, Flight>()
  flightsByLocker.set(context, known)
  return known
}
