/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The most keys of one call: a script over more would block Redis for too long. */
export const mostKeys = 1_000
/** How long an acquire that ends in vain waits at most until what it had taken is given back, in milliseconds. */
export const rollbackMs = 250
/** How long `withLocks` waits at most for the release of a set of which a lease was lost, in milliseconds. */
export const lostReleaseMs = 250
