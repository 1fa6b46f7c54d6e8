/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
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
