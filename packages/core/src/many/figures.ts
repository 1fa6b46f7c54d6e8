/*
 * The figures of this room. Their module imports nothing, because bundlers inline constants only from such modules.
 */

/** The most keys of one call: a script over more would block Redis for too long. */
export const mostKeys = 1_000
/** How long, at most, a failed acquire waits until what it had taken is given back, in milliseconds. */
export const rollbackMs = 250
/** How long, at most, `withLocks` waits for the release of a set that has lost a lease, in milliseconds. */
export const lostReleaseMs = 250
