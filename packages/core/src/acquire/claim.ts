import type { Context } from '../context.ts'
import { type Answer, only } from '../store/answered.ts'
import { ask, commandDeadlineMs, type Quiet } from '../store/ask.ts'
import type { AcquireOutcome, AcquireRequest, InspectOutcome, ReleaseOutcome, Unknown } from '../store/lease-store.ts'
import { drawAcquisitionId } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { sleep } from '../timing/deadline.ts'
import type { Instant } from '../timing/validity.ts'
import { mostSilentTries } from './figures.ts'

/** The outcome of a try; `state` if the try was only a check. */
export type TryOutcome = AcquireOutcome | InspectOutcome

/** All requests for one key under one acquisition id, from the first try until it is granted or given up. */
export interface Claim {
  /** Tries until there is an answer or no time is left. */
  attempt(leftMs: () => number, signal: AbortSignal): Promise<Answer<TryOutcome>>
  /** The caller takes the grant. After this `abandon` does nothing. */
  accept(token: string): void
  /** Undoes in the background what a try was granted or may have been granted. */
  abandon(): void
}

/**
 * Begins a claim. All its tries carry the same acquisition id, so a repeat after a lost reply finds its own lease. A try
 * without an answer may have been granted, so whoever gives the claim up calls `abandon`.
 *
 * A try without an answer may extend an entry that nobody knows of, and so keep others out. After two such tries in a row the
 * claim therefore only checks, which changes nothing, until the store answers again.
 *
 * @param quiet       when the store wants to be asked nothing; both its tries and their undoing observe that
 * @param onSend      called for each store command that is sent
 * @param onSilence   called when a try got no usable answer, unless only the end of the time cut it short
 * @param onLateGrant called when a try was granted after it had been given up; the next `attempt` answers with that grant
 */
export function beginClaim(
  context: Context,
  wish: Omit<AcquireRequest, 'acquisitionId'>,
  quiet: Quiet,
  onSend: () => void,
  onSilence: (failure: Unknown) => void,
  onLateGrant: () => void,
): Claim {
  const { store, clock, work } = context
  const { key, ttlMs } = wish
  const acquisitionId = drawAcquisitionId(context.name)
  /** Tries that were granted, or may have been. */
  let open = 0
  let silentTries = 0
  let ended = false
  /** The token of the grant that the caller has taken. */
  let accepted: string | undefined
  let lateGrant: Answer<AcquireOutcome> | undefined

  const send = async (call: CallDeadline): Promise<TryOutcome | undefined> => {
    onSend()
    const outcome = silentTries < mostSilentTries ? await tryOnce(call) : await store.inspect(key, call)
    if (outcome?.type !== 'unknown') silentTries = 0
    return outcome
  }

  async function tryOnce(call: CallDeadline): Promise<AcquireOutcome | undefined> {
    open++
    silentTries++
    const answer = await only(store.acquire([{ ...wish, acquisitionId }], call))
    const outcome = answer?.type === 'granted' && !answer.token.startsWith(`${acquisitionId}.`) ? foreign : answer
    if (outcome && !isPossibleGrant(outcome)) {
      open--
      // A try that was certainly not carried out has extended no entry.
      silentTries = Math.max(0, silentTries - 1)
    }
    return outcome
  }

  const release = (): Promise<Answer<ReleaseOutcome>> =>
    ask<ReleaseOutcome>(context, ttlMs, (call) => only(store.release([{ key, acquisitionId }], call)), { quiet })

  /**
   * Undoes the tries. A release that finds nothing may have overtaken the acquire it undoes, so it is sent once more, later.
   * That is not needed if the ttl ends before the store wants to be asked again.
   */
  const undo = async (): Promise<void> => {
    const { outcome } = await release()
    if (outcome.type === 'released') return
    const restMs = Math.max(commandDeadlineMs(context, ttlMs), quiet.quietUntilMs - clock.monotonicMs())
    if (restMs > ttlMs) return
    await sleep(clock, restMs)
    await release()
  }

  function onLate(outcome: TryOutcome, sentAt: Instant): void {
    if (outcome.type !== 'granted') return
    lateGrant = { outcome, sentAt, before: 'unknown' }
    if (!ended) onLateGrant()
    // It may be the grant that was accepted. If not, the network delivered a copy of a request after that grant had ended.
    else if (outcome.token !== accepted) work.background(release)
  }

  return {
    async attempt(leftMs, signal) {
      // A late grant that arrives meanwhile ends the attempt after its present try.
      const untilLateMs = (): number => (lateGrant ? 0 : leftMs())
      const options = { leftMs: untilLateMs, signal, quiet, onSilence, onLate }
      const answer = lateGrant ?? (await ask<TryOutcome>(context, ttlMs, send, options))
      return lateGrant ?? answer
    },
    accept(token) {
      accepted = token
      ended = true
    },
    abandon() {
      if (ended) return
      ended = true
      if (open > 0) work.background(undo)
    },
  }
}

const isPossibleGrant = (outcome: AcquireOutcome): boolean =>
  outcome.type === 'granted' || (outcome.type === 'unknown' && outcome.executed === 'unknown')

/** Somebody else's answer tells us nothing. It can come from a cache, or from a connection that is out of step. */
const foreign: Unknown = {
  type: 'unknown',
  executed: 'unknown',
  cause: new Error('The answer is to another request'),
}
