/*
 * The figures of this room. They are in a module that imports nothing, because bundlers inline only the constants of
 * such modules.
 */

/** The pause after an unanswered renewal, in milliseconds. It doubles with each further one in a row. */
export const firstRenewalPauseMs = 50
/** The shortest pause after an unanswered renewal, in milliseconds. */
export const leastRenewalPauseMs = 10
/** How long a lease is held before a watchdog elsewhere adopts it, in milliseconds: most are given back sooner. */
export const adoptAfterMs = 1_000
/** The most leases renewed by one command: a script over more would block Redis for too long. */
export const chunkSize = 100
/** The most commands of one lane in flight at once. */
export const mostInFlight = 4
/** The share of the ttl after which the event `expiring` is emitted for a lease without renewal. */
export const warnAt = 0.8
/** How late the event `long-held` may be, in milliseconds, so that many leases share one timer. It is never early. */
export const longHeldWithinMs = 1_000
/** The longest that `withLock` waits for the release of a lease that was lost, in milliseconds. */
export const lostReleaseMs = 250
