/*
 * The figures of this room. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

/** The pause after an attempt that failed at once, in milliseconds, as a dead server must not be hammered: at first … */
export const leastRetryPauseMs = 20
/** … and doubled up to this. */
export const mostRetryPauseMs = 1_000
/** The longest key, in bytes of UTF-8. */
export const longestKey = 512
