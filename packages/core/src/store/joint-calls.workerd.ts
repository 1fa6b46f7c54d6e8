import { type AnyVerb, type Calls, callsBy, sendAlone } from './calls.ts'

/** Replaces the joint calls of servers where calls share nothing: one request must not wait for another's command. */
export const jointCalls = ({ store }: { readonly store: object }): Calls =>
  callsBy((verb) => (request, attempt) => sendAlone(store as AnyVerb, verb, request, attempt))
