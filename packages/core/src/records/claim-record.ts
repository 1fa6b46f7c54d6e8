import { demandObject, demandOption } from '../errors.ts'
import { sharedOf } from '../key-locker.ts'
import type { Locker } from '../locker.ts'
import { type AcquireOptions, callSettings, planFor } from '../options.ts'
import { checkFingerprint } from '../store/record-limits.ts'
import { type Duration, parseDuration } from '../timing/duration.ts'
import { Claiming, type RecordClaim } from './claiming.ts'
import { keptMs, repeatMs } from './doubt.ts'
import { defaultInDoubtFor } from './figures.ts'
import { recordsOf } from './records-of.ts'

/** The options of a claim: those of an acquire, except `queue`, and what a record needs. */
export interface ClaimOptions extends Omit<AcquireOptions, 'queue'> {
  /** Tells requests with the same key apart, such as a hash of the request: 1 to 128 visible ASCII characters. */
  readonly fingerprint: string
  /**
   * How long a run that ends without a word leaves its key in doubt, counted from the end of its lease; default 1 h.
   * The doubt lasts at least that long, and at most a third of it and two ttls longer. If a claim overtakes the run and
   * is undone, the count begins anew.
   */
  readonly inDoubtFor?: Duration | undefined
  /**
   * Whether to claim a key in doubt, too; default false. The work may then be done a second time, and `run.overtook`
   * says so.
   */
  readonly rerun?: boolean | undefined
}

/**
 * Claims the record of a key, and with it the key's lock, for a caller that then does the work and completes the record
 * with its result. Later claims of the key find that result. While somebody does the work, the call waits up to `wait`,
 * as an acquire does, and resolves with the result once it is there.
 *
 * A record says that work has been done. It cannot make sure that the work is done only once: a run may die between its
 * effect and its completion. Then the key is in doubt, and every claim is told so until `inDoubtFor` is over.
 *
 * @example
 * ```ts
 * const claim = await claimRecord(locks, `${tenant}:${key}`, { fingerprint, wait: 0 })
 * if (claim.type === 'claimed') {
 *   await using run = claim.run
 *   const receipt = await pay({ fence: run.fence, signal: run.signal })
 *   await run.complete(new TextEncoder().encode(JSON.stringify(receipt)))
 * }
 * ```
 *
 * @throws StoreUnavailableError when the store did not answer for a command deadline (what may have been claimed is
 * then undone), or could carry out nothing until the wait was over
 * @throws InvalidOptionError for a bad key or option, or a locker whose store offers no records
 * @throws LeaseholdError with code `CLOSED` once the locker is closed
 * @throws LeaseholdError with code `KIND_MISMATCH` if the key or its record holds something else
 * @throws the signal's own reason when `signal` is aborted
 */
export async function claimRecord(locks: Locker, key: string, options: ClaimOptions): Promise<RecordClaim> {
  return claiming(locks, key, options).run()
}

/** For core: a claim that has not been made yet, and that tells more than its outcome. */
export const claiming = (locks: Locker, key: string, options: ClaimOptions): Claiming =>
  new Claiming(...prepared(locks, key, options))

/**
 * Checks a locker and the options of its claims in advance, without I/O, for callers that make many claims with the
 * same options.
 *
 * @example
 * ```ts
 * checkClaims(locks, { ttl: '30s', inDoubtFor: '1h' })
 * ```
 *
 * @throws InvalidOptionError for a bad option, or a locker whose store offers no records
 */
export function checkClaims(locks: Locker, options: Omit<ClaimOptions, 'fingerprint' | 'signal'>): void {
  prepared(locks, 'key', { ...options, fingerprint: 'any' })
}

function prepared(locks: Locker, key: string, options: ClaimOptions): ConstructorParameters<typeof Claiming> {
  const shared = sharedOf(locks)
  const records = shared && recordsOf(shared.context.store)
  demandOption(shared !== undefined && records !== undefined, 'locks', 'a locker whose store offers records')
  demandObject(options)
  const { fingerprint, inDoubtFor = defaultInDoubtFor, rerun = false, ...rest } = options ?? {}
  checkFingerprint(fingerprint)
  demandOption(typeof rerun === 'boolean', 'rerun', 'true or false')
  demandOption((rest as AcquireOptions).queue === undefined, 'queue', 'left out')
  const plan = { ...planFor(key, callSettings(shared.defaults, rest)()), forResult: true }
  const { ttlMs, renew } = plan
  const inDoubtForMs = parseDuration('inDoubtFor', inDoubtFor)
  const wish = { key, ttlMs, fingerprint, keepMs: keptMs(ttlMs, inDoubtForMs), rerun }
  return [shared, records, plan, wish, !!renew && repeatMs(ttlMs, inDoubtForMs)]
}
