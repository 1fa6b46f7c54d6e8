import type { Colors } from '../output/terminal.ts'
import { shownTime } from '../output/times.ts'
import type { Verdict } from './verdict.ts'

export interface StressResult extends Verdict {
  /** Waits that ended without the lock. */
  readonly timeouts: number
  readonly failures: number
  /** The first failure. */
  readonly failure: string | null
  readonly forMs: number
}

/** What `stress` prints. */
export function verdictLines(result: StressResult, colors: Colors): readonly string[] {
  const { holds, forMs, waitedMs, lost, timeouts, overlaps, longestOverlapMs, failures } = result
  const row = (what: string, said: string): string => `${what.padEnd(16)}${said}`
  const each = (wait: number): string => shownTime(wait)
  return [
    row(
      'holds',
      `${holds.toLocaleString('en')} (${Math.round((holds * 1_000) / forMs).toLocaleString('en')} a second)`,
    ),
    row('waited', `half ${each(waitedMs.half)}, 99 of 100 ${each(waitedMs.most)}, longest ${each(waitedMs.longest)}`),
    row('leases lost', String(lost)),
    row('waits in vain', String(timeouts)),
    row('failures', failures === 0 ? '0' : `${failures}: ${result.failure}`),
    row('overlaps', overlaps === 0 ? '0' : colors.red(`${overlaps}, the longest of ${longestOverlapMs.toFixed(1)} ms`)),
    row('fences', fences(result, colors)),
    '',
    conclusion(result, colors),
  ]
}

function fences({ holds, fencesOutOfOrder }: StressResult, colors: Colors): string {
  if (holds === 0) return '-'
  return fencesOutOfOrder === 0 ? 'each higher than the one before' : colors.red(`${fencesOutOfOrder} out of order`)
}

function conclusion({ kept, holds }: StressResult, colors: Colors): string {
  if (kept) return colors.green('Kept: no two held the lock at once.')
  if (holds === 0) return colors.red('Nothing to judge: nobody got the lock.')
  return colors.red('NOT kept: look at whoever may delete keys, at eviction, and at failovers (leasehold doctor).')
}
