import { about, type Executed, StoreUnavailableError } from '../errors.ts'
import type { Clock } from '../timing/clock.ts'
import { type Instant, instant } from '../timing/validity.ts'
import type { Refused, Unknown } from './lease-store.ts'

/** An outcome, when the attempt that brought it was sent, and whether other attempts may have been carried out. */
export interface Answer<O> {
  readonly outcome: O
  readonly sentAt: Instant
  /** `unknown` if an attempt other than the answered one may have been carried out. */
  readonly before: Executed
}

export const silence: Unknown = { type: 'unknown', executed: 'unknown' }

/** How long the store wants to be asked nothing after this outcome, in milliseconds. */
export const retryAfterMs = (outcome: unknown): number => (outcome as Unknown | undefined)?.retryAfterMs || 0

export const isUnknown = (outcome: unknown): outcome is Unknown => (outcome as Unknown).type === 'unknown'

/** The error for a request that got no usable answer. */
export const unanswered = (action: string, { executed, cause }: Unknown = silence): StoreUnavailableError =>
  new StoreUnavailableError(`gave no usable answer to ${action}`, executed, cause)

/**
 * Returns the outcome if it is an answer. The errors it throws have the stack of its caller.
 *
 * @param before whether an attempt other than the answered one may have been carried out
 * @throws StoreUnavailableError if the outcome is unknown
 * @throws the store's own error if it refused
 */
export function answered<O extends { readonly type: string }>(
  action: string,
  key: string,
  outcome: O | Unknown | Refused,
  before: Executed = 'no',
): O {
  if (isUnknown(outcome)) throw about(key, unanswered(action, outcome))
  if (outcome.type !== 'refused') return outcome as O
  const { error } = outcome as Refused
  throw about(key, error, before === 'unknown' && { executed: before })
}

/** The outcome of a call with one request. */
export const only = async <O>(outcomes: Promise<readonly O[]>): Promise<O | undefined> => (await outcomes)[0]

/** Turns a rejection into an unknown outcome, for callers that must not reject. No store may reject, but one might. */
export const failed =
  ({ clock }: { readonly clock: Clock }) =>
  (cause: unknown): Answer<Unknown> => ({ outcome: { ...silence, cause }, sentAt: instant(clock), before: 'unknown' })
