/*
 * The figures of this room. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

/** A holder that is refused anew with so much time left has been renewed, in milliseconds; with less its time is over. */
export const leastExtensionMs = 20
/** Waiters of one lock must not all check in the very millisecond in which its holder's time ends, in milliseconds. */
export const expirySpreadMs = 40
