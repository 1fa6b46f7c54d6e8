import { type Acquired, acquisition, type Knowledge } from '../acquire/acquisition.ts'
import type { Context } from '../context.ts'
import type { Plan } from '../options.ts'
import { alike, fences } from './figures.ts'
import type { Caller } from './waiting-line.ts'

/** A call that tries the store. */
export interface Competitor {
  /** It was not granted the lock in time, or not answered, so it may well never get it. */
  isFailing(): boolean
  /** Whether it checks about as often as this call would, and is not known to fail where that would not. */
  standsInFor(caller: Caller): boolean
  /** The lock may be free: it tries now, and stands in for everybody until it has its answer. */
  wake(): void
  /** To be called once. */
  run(): Promise<Acquired>
}

/**
 * @param known         heeded and kept up to date
 * @param toldContended whether this call has been told already that the lock is held, because it stood in line
 * @param onFinding     called when it has found something that brings no lease
 */
export function competitor(
  context: Context,
  { plan, since, patienceMs }: Caller,
  known: Knowledge,
  toldContended: boolean,
  onFinding: () => void,
): Competitor {
  let failing = false
  let woken = false
  const { run, wake } = acquisition(context, plan, {
    since,
    fences,
    known,
    toldContended,
    onFinding(finding) {
      woken = false
      if (finding !== 'held') failing = true
      onFinding()
    },
  })
  return {
    isFailing: () => failing,
    standsInFor: (caller) =>
      woken || (patienceMs <= alike * caller.patienceMs && !(failing && slackMs(caller.plan) > slackMs(plan))),
    wake() {
      woken = true
      wake()
    },
    run,
  }
}

/** How late a grant may come, in milliseconds. */
export const slackMs = ({ ttlMs, minValidityMs }: Plan): number => ttlMs - minValidityMs
