import type { CallDeadline } from '../timing/call-deadline.ts'
import { only } from './answered.ts'
import type { Attempt } from './attempt.ts'
import type { LeaseStore } from './lease-store.ts'

/** An operation that a store can do on many keys in one command. */
export type Verb = 'acquire' | 'release' | 'renew'
export type RequestOf<V extends Verb> = Parameters<LeaseStore[V]>[0][number]
export type OutcomeOf<V extends Verb> = Awaited<ReturnType<LeaseStore[V]>>[number]

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
