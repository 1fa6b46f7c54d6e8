/*
 * The figures of this room. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

/** After this many tries in a row without an answer, a claim only checks until the store answers. */
export const mostSilentTries = 2
/** The longest pause after a try that brought neither a lease nor anything to wait for, in milliseconds. */
export const longestVainPauseMs = 1_000
