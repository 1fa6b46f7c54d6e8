/*
 * The figures of this room. They are in a module that imports nothing, because bundlers inline only the constants of
 * such modules.
 */

/** The least time left that shows a renewal when a holder is found again after its expiry was due, in milliseconds. */
export const leastExtensionMs = 20
/** The time after the holder's expiry over which the waiters of a lock spread their checks, in milliseconds. */
export const expirySpreadMs = 40
