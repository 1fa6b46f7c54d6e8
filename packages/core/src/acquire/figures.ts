/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** After so many tries in a row without an answer there are only checks until something is answered. */
export const mostSilentTries = 2
/** The pause after a try that brought neither a lease nor anything to wait for grows up to this, in milliseconds. */
export const longestVainPauseMs = 1_000
