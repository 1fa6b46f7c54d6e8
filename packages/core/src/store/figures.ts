/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The pause after an attempt that failed at once, in milliseconds, as a dead server must not be hammered: at first … */
export const leastRetryPauseMs = 20
/** … and doubled up to this. */
export const mostRetryPauseMs = 1_000
/** The longest key, in bytes of UTF-8. */
export const longestKey = 512
