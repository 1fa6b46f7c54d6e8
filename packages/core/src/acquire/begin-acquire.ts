import type { Context } from '../context.ts'
import type { Plan } from '../options.ts'
import { attemptMs } from '../store/ask.ts'
import { Acquisition, type Terms } from './acquisition.ts'
import { FirstTry } from './first-try.ts'

/** An acquire in progress. */
export type Acquiring = Pick<Acquisition, 'run' | 'wake'>

/** Begins an acquire of a lock that nothing is known of. Throws what the constructor of `Acquisition` throws. */
export function beginAcquire(context: Context, plan: Plan, terms: Terms): Acquiring {
  const withinMs = attemptMs(context, plan.ttlMs)
  const hasTime = plan.waitMs === 0 || plan.waitMs >= withinMs
  return hasTime ? new FirstTry(context, plan, terms, withinMs) : new Acquisition(context, plan, terms)
}
