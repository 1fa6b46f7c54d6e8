/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** A wait without an end: the longest duration there is, in milliseconds. */
export const unlimitedMs: number = Number.MAX_SAFE_INTEGER
