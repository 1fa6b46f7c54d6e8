/*
 * The figures of this room. They are in a module that imports nothing, because bundlers inline only the constants of
 * such modules.
 */

/** After this many tries in a row without an answer, a claim only checks until the store answers. */
export const mostSilentTries = 2
/** The longest pause after a try that brought neither a lease nor anything to wait for, in milliseconds. */
export const longestVainPauseMs = 1_000
