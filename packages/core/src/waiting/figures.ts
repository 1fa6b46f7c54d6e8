/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** A holder seen again with more time left than this, in milliseconds, has renewed. With less, its time is over. */
export const leastExtensionMs = 20
/** Waiters spread their checks over this time after the holder's time ends, in milliseconds, so that they do not all come at once. */
export const expirySpreadMs = 40
