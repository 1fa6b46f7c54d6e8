/*
 * The figures of this room. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

/** After so many tries in a row without an answer there are only checks until something is answered. */
export const mostSilentTries = 2
/** The pause after a try that brought neither a lease nor anything to wait for grows up to this, in milliseconds. */
export const longestVainPauseMs = 1_000
