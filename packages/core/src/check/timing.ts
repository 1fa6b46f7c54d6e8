import type { Finding } from '../store/finding.ts'
import type { LeaseStore } from '../store/lease-store.ts'
import type { Budget } from './budget.ts'
import { finding } from './catalogue.ts'
import { isForbidden } from './refusal.ts'
import { plainReply, type RedisBehind } from './survey.ts'

/** How often a round trip is timed by default, and at most. */
const usualRounds = 5
export const mostRounds = 100

/** How long something took over several tries, in milliseconds. */
export interface Timing {
  readonly medianMs: number
  readonly maxMs: number
  readonly rounds: number
}

/** Null if nothing was timed. */
export function timing(tookMs: readonly number[]): Timing | null {
  if (tookMs.length === 0) return null
  const sorted = tookMs.slice().sort((one, other) => one - other)
  const rounded = (ms: number | undefined): number => Math.round((ms ?? 0) * 1_000) / 1_000
  return {
    medianMs: rounded(sorted[Math.floor((sorted.length - 1) / 2)]),
    maxMs: rounded(sorted[sorted.length - 1]),
    rounds: sorted.length,
  }
}

export interface Timings {
  readonly ping: Timing | null
  readonly script: Timing | null
  /** Says that a command that does nothing is refused, in which case it has no time. */
  readonly findings: readonly Finding[]
}

/** Times a script that reads one lock, and, if there is one, a command that does nothing. */
export async function timeCalls(
  store: LeaseStore,
  behind: RedisBehind | undefined,
  key: string,
  rounds: number = usualRounds,
  budget: Budget,
): Promise<Timings> {
  const script = await timed(rounds, budget, async () => {
    const outcomes = await budget.ask(store.commandDeadlineMs, (call) =>
      store.checkHolders([{ key, cursor: '-' }], call),
    )
    return outcomes?.[0]?.type === 'checked'
  })
  let refused = ''
  const ping = await timed(rounds, budget, async () => {
    const reply = behind && (await plainReply(behind, ['PING'], budget))
    if (reply?.type === 'error') refused = reply.message
    return reply?.type === 'value'
  })
  const findings = isForbidden(refused)
    ? [finding('PING_FORBIDDEN', `The user may not run PING, so no round trip is timed: ${refused}`)]
    : []
  return { ping, script, findings }
}

/** Times calls one after the other, and stops at the first that fails. */
async function timed(rounds: number, { clock }: Budget, call: () => Promise<boolean>): Promise<Timing | null> {
  const tookMs: number[] = []
  while (tookMs.length < rounds) {
    const fromMs = clock.monotonicMs()
    if (!(await call())) break
    tookMs.push(clock.monotonicMs() - fromMs)
  }
  return timing(tookMs)
}
