import { type Answer, ask, commandDeadlineMs } from './ask.ts'
import type { Context } from './context.ts'
import type { AcquireOutcome, AcquireRequest, ReleaseOutcome } from './lease-store.ts'
import { sleep } from './timing/deadline.ts'
import { drawOwner } from './token.ts'

/** One owner's dealings with the store for one key, from its first try until it is granted or given up. */
export interface Claim {
  /** Tries until there is an answer or no time is left. */
  attempt(leftMs: () => number, signal: AbortSignal): Promise<Answer<AcquireOutcome>>
  /** The caller takes the grant: from here on `abandon` does nothing. */
  accept(): void
  /** Undoes, behind the caller's back, what a try was granted or may have been granted. */
  abandon(): void
}

/**
 * Begins a claim. All its tries carry the same owner, so a repeat after a lost reply finds its own lease. A try without
 * an answer may have been granted: whoever gives the claim up calls `abandon`.
 *
 * @param onSend called with each store command that an attempt sends
 */
export function beginClaim(context: Context, wish: Omit<AcquireRequest, 'owner'>, onSend: () => void): Claim {
  const { store, clock, work } = context
  const { key, ttlMs } = wish
  const owner = drawOwner(context.name)
  /** Tries that were granted, or may have been. */
  let open = 0
  let abandoned = false

  const send = async (abort: AbortSignal): Promise<readonly AcquireOutcome[]> => {
    onSend()
    open++
    let mayHold = false
    try {
      const outcomes = await store.acquire([{ ...wish, owner }], abort)
      mayHold = outcomes.length === 0 || outcomes.some(isPossibleGrant)
      return outcomes
    } finally {
      if (!mayHold) open--
    }
  }

  const release = (): Promise<Answer<ReleaseOutcome>> =>
    ask<ReleaseOutcome>(context, ttlMs, (signal) => store.release([{ key, owner }], signal))

  /** A release that found nothing may have overtaken the acquire it undoes: it is sent once more, later. */
  const undo = async (): Promise<void> => {
    const { outcome } = await release()
    if (outcome.type === 'released') return
    await sleep(clock, commandDeadlineMs(context, ttlMs))
    await release()
  }

  return {
    attempt(leftMs, signal) {
      const onLate = ({ type }: AcquireOutcome): void => {
        if (abandoned && type === 'granted') work.background(release())
      }
      return ask<AcquireOutcome>(context, ttlMs, send, { leftMs, signal, onLate })
    },
    accept() {
      open = 0
    },
    abandon() {
      abandoned = open > 0
      if (abandoned) work.background(undo())
    },
  }
}

const isPossibleGrant = (outcome: AcquireOutcome): boolean =>
  outcome.type === 'granted' || (outcome.type === 'unknown' && outcome.executed === 'unknown')
