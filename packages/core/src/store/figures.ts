/*
 * The figures of this room. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

/**
 * The first pause after an attempt that failed at once, in milliseconds. It doubles with each further one, so that a dead
 * server is not hammered.
 */
export const leastRetryPauseMs = 20
/** The longest such pause, in milliseconds. */
export const mostRetryPauseMs = 1_000
/** The longest key, in bytes of UTF-8. */
export const longestKey = 512
