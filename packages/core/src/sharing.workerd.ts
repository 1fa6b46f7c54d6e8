/** Calls share nothing here: see `sharing.ts`, which this file replaces under `workerd` and `edge-light`. */
export const sharesBetweenCalls = (): boolean => false

/** No waiter of one request may be woken from within another, so there is no queue. */
export const localQueue = (): undefined => undefined

/** Every timer and promise has to stay with the request that made it. */
export const homeContext =
  () =>
  (task: () => void): void =>
    task()

export const clockWithin = <C>(clock: C): C => clock
