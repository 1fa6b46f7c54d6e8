import type { CallDeadline } from '../timing/call-deadline.ts'
import { only } from './answered.ts'
import type { Attempt } from './attempt.ts'
import type { LeaseStore } from './lease-store.ts'

/** An operation that a store can do on many keys in one command. */
export type Verb = 'acquire' | 'release' | 'renew'
type RequestOf<V extends Verb> = Parameters<LeaseStore[V]>[0][number]
type OutcomeOf<V extends Verb> = Awaited<ReturnType<LeaseStore[V]>>[number]

/** Ways to send a request to a store. Each attempt is eventually settled, or rejected if the store rejects. */
export type Calls = { readonly [V in Verb]: (request: RequestOf<V>, attempt: Attempt<OutcomeOf<V>>) => void }

/**
 * Makes the ways to send from one that is the same for every verb. It makes them in the order in which verbs should leave:
 * releases first, so that an acquire called after the release of its key finds the lock free.
 */
export const callsBy = (sending: (verb: Verb) => Send): Calls => ({
  release: sending('release'),
  renew: sending('renew'),
  acquire: sending('acquire'),
})

type Send = (request: { readonly key: string }, attempt: Attempt<unknown>) => void

/** A store, as seen by code that is the same for every verb. */
export type AnyVerb = Pick<LeaseStore, 'inNextWrite'> &
  Readonly<Record<Verb, (requests: readonly unknown[], call: CallDeadline) => Promise<readonly unknown[]>>>

/** Sends one request as a command of its own. */
export function sendAlone(store: AnyVerb, verb: Verb, request: unknown, attempt: Attempt<unknown>): void {
  try {
    attempt.follow(only(store[verb]([request], attempt)))
  } catch (error) {
    attempt.reject(error)
  }
}
