/** Calls share nothing here: this module replaces that of servers under `workerd` and `edge-light`. */
export const sharesBetweenCalls = (): boolean => false

/** Runs each task in its caller's context: every timer and promise must stay with the request that made it. */
export const homeContext =
  () =>
  async <T>(task: () => T | Promise<T>): Promise<T> =>
    task()

export const clockWithin = <C>(clock: C): C => clock
