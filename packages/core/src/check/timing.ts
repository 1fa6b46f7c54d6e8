import type { LeaseStore } from '../store/lease-store.ts'
import type { Budget } from './budget.ts'
import { plainAnswer, type RedisBehind } from './survey.ts'

/** How often a round trip is timed at least, and at most. */
const leastRounds = 5
export const mostRounds = 100

/** How long something took, of several tries, in milliseconds. */
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

/** Times a script that reads one lock, and a command that does nothing, where there is one. */
export async function timeCalls(
  store: LeaseStore,
  behind: RedisBehind | undefined,
  key: string,
  rounds: number,
  budget: Budget,
): Promise<{ readonly ping: Timing | null; readonly script: Timing | null }> {
  const times = Math.max(rounds, leastRounds)
  const script = await timed(times, budget, async () => {
    const outcomes = await budget.ask(store.commandDeadlineMs, (call) =>
      store.checkHolders([{ key, cursor: '-' }], call),
    )
    return outcomes?.[0]?.type === 'checked'
  })
  const ping = behind?.plain
    ? await timed(times, budget, async () => (await plainAnswer(behind, ['PING'], budget)) !== undefined)
    : null
  return { ping, script }
}

/** Times calls one after the other, and gives up with the first that fails. */
async function timed(rounds: number, { clock }: Budget, call: () => Promise<boolean>): Promise<Timing | null> {
  const tookMs: number[] = []
  while (tookMs.length < rounds) {
    const fromMs = clock.monotonicMs()
    if (!(await call())) break
    tookMs.push(clock.monotonicMs() - fromMs)
  }
  return timing(tookMs)
}
