/*
 * How long a run keeps its key in doubt if it dies: at least `inDoubtFor` from the end of its lease. It repeats its
 * claim while it runs, and each repeat starts the time anew. The last repeat may be as old as the time between two of
 * them, or twice that if one got no answer.
 */

/** How often a run repeats its claim, in milliseconds. Not more often than its lease is renewed. */
export const repeatMs = (ttlMs: number, inDoubtForMs: number): number => Math.max(ttlMs / 3, inDoubtForMs / 6)

/** How long a run's record is kept from each repeat on, in milliseconds. */
export const keptMs = (ttlMs: number, inDoubtForMs: number): number =>
  Math.ceil(ttlMs + inDoubtForMs + 2 * repeatMs(ttlMs, inDoubtForMs))
