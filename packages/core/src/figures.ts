/*
 * The figures of the locker. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

// Asking the store.

/** The pause after an attempt that failed at once, in milliseconds, as a dead server must not be hammered: at first … */
export const leastRetryPauseMs = 20
/** … and doubled up to this. */
export const mostRetryPauseMs = 1_000
/** After so many tries in a row without an answer there are only checks until something is answered. */
export const mostSilentTries = 2
/** The pause after a try that brought neither a lease nor anything to wait for grows up to this, in milliseconds. */
export const longestVainPauseMs = 1_000
/** The longest key, in bytes of UTF-8. */
export const longestKey = 512

// Holding a lease.

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

// Waiting.

/** A holder that is refused anew with so much time left has been renewed, in milliseconds; with less its time is over. */
export const leastExtensionMs = 20
/** Waiters of one lock must not all check in the very millisecond in which its holder's time ends, in milliseconds. */
export const expirySpreadMs = 40
/** How many calls of a line may be looked at per millisecond, on average, for those whose wait is over. */
export const callsPerMs = 1_000

// What calls of one process have of each other.

/** How often a grant may pass from waiter to waiter of this process before others have a chance. */
export const mostHandOffs = 16
/** And for how long, in milliseconds. */
export const longestRunMs = 1_000
/** Consecutive fences to reserve with a grant, so that each of its holders has one of its own. */
export const fences: number = mostHandOffs + 1
/** Others who were told of a release get this head start on our next waiter, in milliseconds. */
export const headStartMs = 2
/** Our next waiter does not wait for the answer to a release beyond this share of the store's command deadline. */
export const releaseShare = 0.05
/** Without a notifier that says so, how often the waiters behind our own holder check the store, in milliseconds. */
export const unaidedCheckMs = 1_000
/** Waiters that look within twice each other's time are alike: or each of many plans would have a competitor of its own. */
export const alike = 2
