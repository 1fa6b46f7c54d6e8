/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The pause after an unanswered renewal, in milliseconds. Each further one doubles it … */
export const firstRenewalPauseMs = 50
/** … and never less than this. */
export const leastRenewalPauseMs = 10
/** How many leases one command renews. A script over more would keep Redis busy for too long. */
export const chunkSize = 100
/** How many commands are under way at once. */
export const mostInFlight = 4
/** A lease that nobody renews is told as expiring after this share of its ttl. */
export const warnAt = 0.8
/** `long-held` may come this much late, in milliseconds, and never early, so that many leases share one timer. */
export const longHeldWithinMs = 1_000
/** How long to wait, at most, for the release of a lease that is lost already, in milliseconds. */
export const lostReleaseMs = 250
