/*
 * The figures of this room. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

/** The least time left, in milliseconds, that shows a renewal when the same holder is found after its expiry was due. */
export const leastExtensionMs = 20
/** The waiters of a lock spread their checks over this time after the holder's expiry, in milliseconds. */
export const expirySpreadMs = 40
