import { beginAcquire } from '#begin-acquire'
import type { Context } from '../context.ts'
import type { Plan } from '../options.ts'
import type { Instant } from '../timing/validity.ts'
import { type Acquired, nothingKnown } from './acquisition.ts'

/** Acquires without regard to other calls of this process. */
export async function acquireAlone(context: Context, plan: Plan, since: Instant, fences = 1): Promise<Acquired> {
  return beginAcquire(context, plan, { since, fences, known: nothingKnown() }).run(since)
}
