import { type Acquired, acquisition, type Knowledge } from '../acquire/acquisition.ts'
import type { Context } from '../context.ts'
import type { Plan } from '../options.ts'
import { alike, fences } from './figures.ts'
import type { Caller } from './waiting-line.ts'

/** A call that tries the store. */
export interface Competitor {
  /** Its last grant came too late or its last try got no answer, so it may well never get the lock. */
  isFailing(): boolean
  /**
   * Whether this call can leave the store to it: it checks about as often as the call would, and is not failing where the call
   * might succeed.
   */
  standsInFor(caller: Caller): boolean
  /** The lock may be free: it tries now, and stands in for every call until it has its answer. */
  wake(): void
  /** Call it once. */
  run(): Promise<Acquired>
}

/**
 * @param known         what the calls of this key know; read and kept up to date
 * @param toldContended whether the event `contended` of this call has been emitted already, because it stood in line
 * @param onFinding     called after each try that brought no lease
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
