import { type Answer, ask, commandDeadlineMs } from './ask.ts'
import type { Context } from './context.ts'
import type { AcquireOutcome, ReleaseOutcome, Unknown } from './lease-store.ts'
import { deadline, sleep } from './timing/deadline.ts'
import { drawOwner } from './token.ts'

/** One owner's dealings with the store for one key, from its first try until it is granted or given up. */
export interface Claim {
  /** Store commands sent so far. */
  readonly commands: number
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
 */
export function beginClaim(context: Context, key: string, ttlMs: number): Claim {
  const { store, clock } = context
  const owner = drawOwner(context.name)
  let commands = 0
  /** Tries that were granted, or may have been. */
  let open = 0
  let abandoned = false

  const release = async (): Promise<ReleaseOutcome | Unknown> => {
    const leftMs = deadline(clock, commandDeadlineMs(context, ttlMs))
    return (await ask<ReleaseOutcome>(context, ttlMs, (signal) => store.release([{ key, owner }], signal), { leftMs }))
      .outcome
  }

  /** A release that found nothing may have overtaken the acquire it undoes: it is sent once more, later. */
  const undo = async (): Promise<void> => {
    if ((await release()).type === 'released') return
    await sleep(clock, commandDeadlineMs(context, ttlMs))
    await release()
  }

  const send = async (abort: AbortSignal): Promise<readonly AcquireOutcome[]> => {
    commands++
    open++
    let nothingCame = true
    try {
      const outcomes = await store.acquire([{ key, owner, ttlMs, fences: 1 }], abort)
      nothingCame = outcomes[0] !== undefined && isNothing(outcomes[0])
      return outcomes
    } finally {
      if (nothingCame) open--
    }
  }

  return {
    get commands() {
      return commands
    },
    attempt(leftMs, signal) {
      const onLate = (outcome: AcquireOutcome): void => {
        if (abandoned && outcome.type === 'granted') context.background(release())
      }
      return ask<AcquireOutcome>(context, ttlMs, send, { leftMs, signal, onLate })
    },
    accept() {
      open = 0
    },
    abandon() {
      abandoned = open > 0
      if (abandoned) context.background(undo())
    },
  }
}

/** Whether nothing can have come of a try. A rejected one was not sent. */
const isNothing = (outcome: AcquireOutcome): boolean =>
  outcome.type === 'unknown' ? outcome.executed === 'no' : outcome.type !== 'granted'
