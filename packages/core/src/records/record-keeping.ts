import type { Context } from '../context.ts'
import type { Grant } from '../lease/grant.ts'
import type { Watch } from '../lease/watch.ts'
import { ask } from '../store/ask.ts'
import type { AbandonOutcome, ClaimOutcome, ClaimRequest, RecordStore } from '../store/records.ts'

/**
 * Makes sure that the record outlives its run, however long that takes. A repeat of the claim extends both the record
 * and the lock.
 *
 * @param watch the watch over the run's lease
 * @param repeatMs how often the claim is repeated, in milliseconds
 */
export function keepingRecord(
  watch: Watch,
  context: Context,
  records: RecordStore,
  claim: ClaimRequest,
  grant: Grant,
  repeatMs: number,
): Watch {
  // If another run has the record by now and has left it in doubt, this one does not take it.
  const again = { ...claim, rerun: false }
  let cancel: (() => void) | undefined

  function repeat(): void {
    cancel = context.background.schedule(repeat, repeatMs, 'background')
    void ask<ClaimOutcome>(context, again.ttlMs, {
      send: (attempt) => attempt.follow(records.claim(again, attempt)),
    }).then(
      ({ outcome }) => outcome.type === 'claimed' && outcome.token !== grant.token && replaced(outcome.token),
      // Without an answer, the next repeat comes in time.
      () => undefined,
    )
  }

  /** The store had lost everything, and took the repeat for a new claim. Nothing is claimed again silently. */
  function replaced(token: string): void {
    const { key, ttlMs } = again
    context.work.background(() =>
      ask<AbandonOutcome>(context, ttlMs, {
        send: (attempt) => attempt.follow(records.abandon({ key, token }, attempt)),
      }),
    )
    grant.lose('gone')
  }

  return {
    watch(its, plan) {
      watch.watch(its, plan)
      cancel = context.background.schedule(repeat, repeatMs, 'background')
    },
    forget(its) {
      cancel?.()
      watch.forget(its)
    },
  }
}
