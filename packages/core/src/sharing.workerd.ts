/** Calls share nothing here: see `sharing.ts`, which this file replaces under `workerd` and `edge-light`. */
export const sharesBetweenCalls = (): boolean => false

/** No waiter of one request may be woken from within another, so there is no queue. */
export const sharedQueue = () => (): undefined => undefined

/** Each lease has a watchdog of its own, which has but one to renew. */
export const renewalLanes = <R>(_: unknown, renew: R): R => renew

/** Every timer and promise has to stay with the request that made it. */
export const homeContext =
  () =>
  async <T>(task: () => T | Promise<T>): Promise<T> =>
    task()

export const clockWithin = <C>(clock: C): C => clock
