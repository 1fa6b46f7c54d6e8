/*
 * The figures of this room. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

/** The pause after an unanswered renewal, doubled by each further one, in milliseconds … */
export const firstRenewalPauseMs = 50
/** … and never less than this. */
export const leastRenewalPauseMs = 10
/** Leases renewed by one command: a script over more would keep Redis from others for too long. */
export const chunkSize = 100
/** Commands under way at once. */
export const mostInFlight = 4
/** The share of its ttl after which a lease that nobody renews is announced as expiring. */
export const warnAt = 0.8
/** How much later than due `long-held` may be told, in milliseconds, so that many share one timer. Never sooner. */
export const longHeldWithinMs = 1_000
/** After a loss, the release of what is no longer ours is awaited for so long at most, in milliseconds. */
export const lostReleaseMs = 250
