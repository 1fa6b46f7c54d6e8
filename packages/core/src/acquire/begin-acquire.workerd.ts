import type { Context } from '../context.ts'
import type { Plan } from '../options.ts'
import { Acquisition, type Terms } from './acquisition.ts'

/** Replaces the beginning used on servers where calls share no timer: a first try would be taken over at once. */
export const beginAcquire = (context: Context, plan: Plan, terms: Terms): Acquisition =>
  new Acquisition(context, plan, terms)
