import { demandObject, demandOption, InvalidOptionError } from '../errors.ts'
import { teller } from '../events.ts'
import { sharedOf } from '../key-locker.ts'
import type { Lease } from '../lease/lease.ts'
import type { Locker } from '../locker.ts'
import { type AcquireOptions, callSettings, planFor } from '../options.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { unlimitedMs } from '../timing/figures.ts'
import { type Candidate, type LeaderWork, StandingCandidate } from './candidate.ts'
import type { ElectionEvent } from './election-events.ts'
import { defaultPause } from './figures.ts'

/**
 * Options of an acquire that make no sense for a candidate, which waits without limit and leads for as long as
 * possible.
 */
const notHere = ['wait', 'renew', 'maxHold', 'minValidity', 'longHeld', 'budget'] as const

/**
 * The options of an election: those of an acquire, except the ones that would end a campaign or a term. These do not
 * apply even if the locker has defaults for them.
 */
export interface LeadOptions extends Omit<AcquireOptions, (typeof notHere)[number]> {
  /** Ends the candidacy when aborted, as `stop` does. */
  readonly signal?: AbortSignal | undefined
  /**
   * How long the work has to stop when it is told to; by default a third of the ttl, at most half of it. If renewals
   * stay unanswered, the work is told to stop when the lease has only that long left.
   */
  readonly stopWithin?: Duration | undefined
  /**
   * How long a candidate pauses after its term before it campaigns again; default 2 s. Jitter adds or subtracts up to
   * half of it.
   */
  readonly pause?: Duration | undefined
  /** Called with each event of the election. A listener that throws changes nothing. */
  readonly onEvent?: ((event: ElectionEvent) => void) | undefined
}

/**
 * Stands for election: waits until nobody leads, leads, and stands again after losing its leadership. Of all candidates
 * for a key, in all processes, one leads.
 *
 * A leader is whoever has the key's lock, and its term is the lease's `fence`, which grows with each election. So a
 * process that is restarted under the same name is another leader, with a higher term.
 *
 * **What is promised.** The work is told to stop, by its `signal`, before anybody else can lead. From then on, it has
 * `stopWithin` to stop, and the lock is kept until it has. Work that stops in time never overlaps with the next
 * leader's.
 *
 * **What is not.** No lease can stop work that ignores its signal: after `stopWithin`, the event `overrun` is emitted
 * and the lock is given up. And some losses come without a warning: an operator revokes the lock, the server loses it,
 * or the process was frozen past its lease. Then the signal fires as soon as the process learns of it. Pass `fence` to
 * whatever the leader writes to, and have that refuse a lower one (`@leasehold/core/fencing`).
 *
 * How a term ends:
 * - **Its lease is lost**, or has only `stopWithin` left because renewals stay unanswered: the candidate campaigns
 *   again, after `pause`. During an outage nobody campaigns in vain: candidates wait until the store answers.
 * - **`resign()`**, of the candidate or, in the work, of its leadership: the same, by choice.
 * - **`stop()`**, `signal`, or the locker is closed: `ended` resolves. Stop candidates before you close the locker, so
 *   that the next one can lead at once.
 * - **The work returns** without having been told to stop: the candidate has done what it stood for, and `ended`
 *   resolves.
 * - **The work throws** without having been told to stop: the lock is given back, and `ended` rejects with the error.
 *   The program decides what to do then. Most let the process end: otherwise, a candidate that fails at once would take
 *   the lead again and again. What the work throws after it was told to stop is only reported, as `failed`.
 * - **The store refuses for good**, for example for a missing permission (`STORE_UNAVAILABLE` with `refused`) or a key
 *   that is not a lock (`KIND_MISMATCH`): `ended` rejects with its error.
 *
 * Well-known elections do the same. In client-go, a leader gives up after `RenewDeadline`, by default 10 s of a
 * `LeaseDuration` of 15 s, and the package warns that it does not fence; `Run` then returns, and a panic of the work
 * ends the process (kubernetes/client-go, tools/leaderelection). In etcd, `Campaign` waits until it is elected, and
 * returns errors to its caller; `Resign` lets others lead (etcd-io/etcd, client/v3/concurrency).
 *
 * On Workers, a candidate ends with its request, without a word: the ttl frees the lock. There, it serves work within
 * one long request.
 *
 * @example
 * ```ts
 * const candidate = lead(locks, 'scheduler', async ({ fence, signal }) => {
 *   while (!signal.aborted) await runDueJobs({ fence, signal })
 * })
 * process.once('SIGTERM', () => void candidate.stop())
 * await candidate.ended
 * ```
 *
 * @throws InvalidOptionError for a bad key or option
 * @throws LeaseholdError with code `CLOSED` if the locker is closed
 */
export function lead(locks: Locker, key: string, work: LeaderWork, options: LeadOptions = {}): Candidate {
  const shared = sharedOf(locks)
  demandOption(shared !== undefined, 'locks', 'a locker')
  demandOption(typeof work === 'function', 'work', 'a function')
  demandObject(options)
  const { stopWithin, pause = defaultPause, onEvent, signal, ...rest } = options
  for (const name of notHere) {
    if ((rest as AcquireOptions)[name] !== undefined) throw new InvalidOptionError(name, 'is not for an election')
  }
  demandOption(!onEvent || typeof onEvent === 'function', 'onEvent', 'a function')
  // The locker's own defaults would cut the wait or the term short.
  const endless = { wait: unlimitedMs, renew: true, maxHold: unlimitedMs, longHeld: unlimitedMs, budget: Infinity }
  const { ttlMs } = planFor(key, callSettings(shared.defaults, { ...rest, ...endless, signal })())
  const stopWithinMs = parseDuration('stopWithin', stopWithin ?? ttlMs / 3)
  demandOption(stopWithinMs <= ttlMs / 2, 'stopWithin', 'at most half of the ttl')
  const { context } = shared
  context.work.assertOpen()

  const acquire = async (ends: AbortSignal): Promise<Lease> => {
    const lease = await locks.acquire(key, {
      ...rest,
      ...endless,
      // A leader begins with more than `stopWithin` left.
      minValidity: (ttlMs + stopWithinMs) / 2,
      signal: ends,
    })
    // Reading the token keeps the lease from being handed off within the process. So each term is an election by the
    // store, and `leaderOf` shows its fence.
    void lease.token
    return lease
  }
  const pauseMs = parseDuration('pause', pause)
  return new StandingCandidate({ context, key, work, acquire, stopWithinMs, pauseMs, tell: teller(onEvent) }, signal)
}
