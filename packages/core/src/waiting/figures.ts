/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The least time left, in milliseconds, that shows a renewal when the same holder is found after its expiry was due. */
export const leastExtensionMs = 20
/** The waiters of a lock spread their checks over this time after the holder's expiry, in milliseconds. */
export const expirySpreadMs = 40
