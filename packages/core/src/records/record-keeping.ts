import type { Context } from '../context.ts'
import type { Grant } from '../lease/grant.ts'
import { ask } from '../store/ask.ts'
import type { AbandonOutcome, ClaimOutcome, ClaimRequest, RecordStore } from '../store/records.ts'

/**
 * Sees to it that the record outlives its run, however long that takes. A repeat of the claim extends both.
 *
 * @returns what ends that
 */
export function keepRecord(context: Context, records: RecordStore, claim: ClaimRequest, grant: Grant): () => void {
  // If another run has the record by now and has left it in doubt, this one does not take it.
  const again = { ...claim, rerun: false }
  let cancel = schedule()

  function schedule(): () => void {
    return context.background.schedule(repeat, again.keepMs / 3, 'background')
  }

  function repeat(): void {
    cancel = schedule()
    void ask<ClaimOutcome>(context, again.ttlMs, {
      send: (attempt) => attempt.follow(records.claim(again, attempt)),
    }).then(
      ({ outcome }) => outcome.type === 'claimed' && outcome.token !== grant.token && replaced(outcome.token),
      // Without an answer, the next comes before the record ends.
      () => undefined,
    )
  }

  /** The store had lost everything, and took the repeat for a claim. Nothing is claimed again in silence. */
  function replaced(token: string): void {
    const { key, ttlMs } = again
    context.work.background(() =>
      ask<AbandonOutcome>(context, ttlMs, {
        send: (attempt) => attempt.follow(records.abandon({ key, token }, attempt)),
      }),
    )
    grant.lose('gone')
  }

  return () => cancel()
}
