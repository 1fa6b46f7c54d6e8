import type { Context } from '../context.ts'
import { type Answer, only } from '../store/answered.ts'
import { ask, commandDeadlineMs, type Quiet } from '../store/ask.ts'
import type { AcquireOutcome, AcquireRequest, InspectOutcome, ReleaseOutcome, Unknown } from '../store/lease-store.ts'
import { drawAcquisitionId } from '../store/token.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { sleep } from '../timing/deadline.ts'
import type { Instant } from '../timing/validity.ts'
import { mostSilentTries } from './figures.ts'

/** What a try may come to; `state` where it was only a check. */
export type TryOutcome = AcquireOutcome | InspectOutcome

/** The tries of one acquisition id for one key, until one is granted or all are given up. */
export interface Claim {
  /** Tries until there is an answer or no time is left. */
  attempt(leftMs: () => number, signal: AbortSignal): Promise<Answer<TryOutcome>>
  /** The caller takes the grant: from here on `abandon` does nothing. */
  accept(token: string): void
  /** Undoes, behind the caller's back, what a try was granted or may have been granted. */
  abandon(): void
}

/**
 * Begins a claim. All its tries carry the same acquisition id, so a repeat after a lost reply finds its own lease. A try without
 * an answer may have been granted, so a caller that gives up calls `abandon`.
 *
 * Each try without an answer may extend an entry that nobody knows of, and that keeps others out. So after two of them in a row the
 * claim only checks, which changes nothing, until the store answers again.
 *
 * @param quiet       heeded by its tries, and by what undoes them
 * @param onSend      a store command is sent
 * @param onSilence   a try has come to nothing, and not only because time was up
 * @param onLateGrant a try was granted after it had been given up; the next attempt answers it
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
  /** What the caller has taken. */
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
      // What was certainly not carried out has re-armed nothing.
      silentTries = Math.max(0, silentTries - 1)
    }
    return outcome
  }

  const release = (): Promise<Answer<ReleaseOutcome>> =>
    ask<ReleaseOutcome>(context, ttlMs, (call) => only(store.release([{ key, acquisitionId }], call)), { quiet })

  /**
   * A release that found nothing may have overtaken the acquire it undoes: it is sent once more, later. Unless the ttl has
   * undone it before the store wants to be asked anything.
   */
  const undo = async (): Promise<void> => {
    const { outcome } = await release()
    if (outcome.type === 'released') return
    const restMs = Math.max(commandDeadlineMs(context, ttlMs), quiet.quietUntilMs - clock.monotonicMs())
    if (restMs > ttlMs) return
    await sleep(clock, restMs)
    await release()
  }

  function hearLate(outcome: TryOutcome, sentAt: Instant): void {
    if (outcome.type !== 'granted') return
    lateGrant = { outcome, sentAt, before: 'unknown' }
    if (!ended) onLateGrant()
    // It may be what was accepted. If not, the network has delivered a copy after that had ended.
    else if (outcome.token !== accepted) work.background(release)
  }

  return {
    async attempt(leftMs, signal) {
      // A grant that comes late meanwhile ends it after the present try.
      const untilLateMs = (): number => (lateGrant ? 0 : leftMs())
      const options = { leftMs: untilLateMs, signal, quiet, onSilence, onLate: hearLate }
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

/** Somebody else's answer, by way of a cache or a connection that is out of step, has told us nothing. */
const foreign: Unknown = {
  type: 'unknown',
  executed: 'unknown',
  cause: new Error('The answer is that to another request'),
}
