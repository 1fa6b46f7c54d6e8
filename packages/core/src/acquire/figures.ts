/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The longest pause after a try that brought neither a lease nor anything to wait for, in milliseconds. */
export const longestVainPauseMs = 1_000
