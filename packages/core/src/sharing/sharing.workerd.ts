/** Calls share nothing here: see `sharing.ts`, which this file replaces under `workerd` and `edge-light`. */
export const sharesBetweenCalls = (): boolean => false

/** Every timer and promise has to stay with the request that made it. */
export const homeContext =
  () =>
  async <T>(task: () => T | Promise<T>): Promise<T> =>
    task()

export const clockWithin = <C>(clock: C): C => clock
