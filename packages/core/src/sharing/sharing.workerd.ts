/** Calls share nothing here: under `workerd` and `edge-light` this module replaces the one for servers. */
export const sharesBetweenCalls = (): boolean => false

/** Runs each task in its caller's context: every timer and promise must stay with the request that made it. */
export const homeContext =
  () =>
  async <T>(task: () => T | Promise<T>): Promise<T> =>
    task()

export const clockWithin = <C>(clock: C): C => clock
