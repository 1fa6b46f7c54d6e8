import type { Context } from '../context.ts'
import type { Plan } from '../options.ts'
import type { Instant } from '../timing/validity.ts'
import type { Watchdog } from '../watchdog.ts'
import type { Grant } from './grant.ts'
import { Renewal } from './renewal.ts'

/** Keeps a grant valid, and notices when it is lost. */
export interface Watch {
  /**
   * Watches a grant for its present holder.
   *
   * @param now the present moment, if the caller has read the clock in this turn
   */
  watch(grant: Grant, plan: Plan, now?: Instant): void
  /** Stops watching the grant. Nothing renews it after that. */
  forget(grant: Grant): void
}

/** A `Watchdog` as core sees it. */
export interface WatchMaker extends Watchdog {
  readonly watchFor: (context: Context) => Watch
}

/**
 * Chooses what watches over a grant: the plan's watchdog, if it has one.
 *
 * @param joint watches over all grants where calls may share a timer
 */
export const watchFor = (context: Context, { renew }: Plan, joint: Watch | false | undefined): Watch =>
  (renew as WatchMaker).watchFor?.(context) ?? (joint || new Renewal(context))
