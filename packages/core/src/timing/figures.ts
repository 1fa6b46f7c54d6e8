/*
 * The figures of this room. They are in a module that imports nothing, because bundlers inline only the constants of
 * such modules.
 */

/** An endless wait: the longest duration there is, in milliseconds. */
export const unlimitedMs: number = Number.MAX_SAFE_INTEGER
