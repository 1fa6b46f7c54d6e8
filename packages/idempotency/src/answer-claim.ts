import { type InvalidOptionError, LeaseholdError } from '@leasehold/core'
import { claimRecord, type HolderSeen, type RecordClaim, type Run, type StoredRecord } from '@leasehold/core/records'
import { answerRecord } from './answer-record.ts'
import { answerRun } from './answer-run.ts'
import type { InDoubtEvent } from './events.ts'
import { closedRetrySeconds, longestRetrySeconds, spentRetrySeconds, storeRetrySeconds } from './figures.ts'
import type { GuardedRequest } from './guarded-request.ts'
import type { ProblemType } from './problem.ts'

/** The record that a request claims. */
export interface Wanted {
  /** The client's key. */
  readonly key: string
  /** The record's name. */
  readonly name: string
  readonly fingerprint: string
}

/** Claims the record, then runs the work, replays its result, or answers why it does neither. */
export async function answerClaim(
  guarded: GuardedRequest,
  wanted: Wanted,
  work: (run: Run) => Response | Promise<Response>,
): Promise<Response> {
  const { inDoubt } = guarded.settings
  let found = await claim(guarded, wanted, inDoubt === 'rerun')
  let told: number | undefined
  if (found.type === 'in-doubt') {
    const decision = await decide(guarded, wanted, found.record)
    if (decision !== 'rerun') return decision
    told = found.record.fence
    found = await claim(guarded, wanted, true)
  }
  const overtook = found.type === 'claimed' ? found.run.overtook : undefined
  // While the policy decided about one run, another may have left the key in doubt.
  if (overtook !== undefined && overtook !== told) tellOfDoubt(guarded, wanted, 'rerun', overtook)
  switch (found.type) {
    case 'claimed':
      return answerRun(guarded, found.run, work)
    case 'done':
      return answerRecord(guarded, found.record)
    case 'mismatch':
      return guarded.problem('key-reused')
    case 'busy':
      return guarded.problem('in-progress', retryAfter(found))
    case 'in-doubt':
      return guarded.problem('in-doubt')
    case 'answered':
      return found.response
  }
}

/** Why there is no claim. */
interface Refusal {
  readonly type: 'answered'
  readonly response: Response
}

const refusal = (response: Response): Refusal => ({ type: 'answered', response })

async function claim(
  guarded: GuardedRequest,
  { name, fingerprint }: Wanted,
  rerun: boolean,
): Promise<RecordClaim | Refusal> {
  const { request, title, settings } = guarded
  try {
    return await claimRecord(settings.locks, name, { ...settings.claim, fingerprint, rerun, signal: request.signal })
  } catch (cause) {
    if (!(cause instanceof LeaseholdError)) throw cause
    const reason = reasonOf(cause)
    if (!reason) return refusal(guarded.misconfigured(cause))
    guarded.tell({ type: 'unavailable', key: name, request: title, cause })
    return refusal(guarded.problem(...reason))
  }
}

/** Why a claim could not be made, and when to ask again, in seconds; undefined for a mistake. */
function reasonOf({ code, option }: LeaseholdError & Partial<Pick<InvalidOptionError, 'option'>>): Reason | undefined {
  if (code === 'CLOSED') return ['shutting-down', closedRetrySeconds]
  if (code === 'STORE_UNAVAILABLE') return ['store-unavailable', storeRetrySeconds]
  // The options were checked when the handle was made. A budget is shared, and may be used up since.
  return option === 'budget' ? ['budget-spent', spentRetrySeconds] : undefined
}

type Reason = readonly [type: ProblemType, retrySeconds: number]

/** What the policy decides about a key in doubt: an answer, or to run the work. */
async function decide(guarded: GuardedRequest, wanted: Wanted, record: StoredRecord): Promise<Response | 'rerun'> {
  const { request, settings } = guarded
  const { fence, holder, expiresInMs: forMs } = record
  const { inDoubt } = settings
  const decision =
    typeof inDoubt === 'function' ? await inDoubt({ request, key: wanted.key, fence, holder, forMs }) : inDoubt
  // Any object is an answer, without `instanceof`: its `Response` may be another realm's, or a framework's.
  const isAnswer = typeof decision === 'object'
  tellOfDoubt(guarded, wanted, isAnswer ? 'response' : decision === 'rerun' ? decision : 'reject', fence)
  return isAnswer || decision === 'rerun' ? decision : guarded.problem('in-doubt')
}

function tellOfDoubt(
  guarded: GuardedRequest,
  { name }: Wanted,
  decision: InDoubtEvent['decision'],
  fence: number,
): void {
  guarded.tell({ type: 'in-doubt', key: name, request: guarded.title, decision, fence })
}

const retryAfter = ({ expiresInMs }: HolderSeen): number =>
  Math.max(1, Math.min(longestRetrySeconds, Math.ceil((expiresInMs ?? Infinity) / 1_000)))
