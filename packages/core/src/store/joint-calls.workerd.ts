import { type AnyVerb, sendAlone, type Verb } from './lone-call.ts'

/** Replaces the joint calls of servers where calls share nothing: one request must not wait for another's command. */
export const jointCalls = ({ store }: { readonly store: object }) => ({
  send: (verb: Verb, request: unknown, attempt: Parameters<typeof sendAlone>[3]): void =>
    sendAlone(store as AnyVerb, verb, request, attempt),
})
