/*
 * The constants of this package. They have their own module that imports nothing, because bundlers inline only the
 * constants of such modules.
 */

/**
 * The shortest ttl of a delegated lease. According to the platform, an alarm can be late by up to a minute. A lease is
 * due when a third of its ttl is over, so with a ttl of two minutes, 18 s are left in the worst case.
 */
export const defaultMinTtl = '2m'
/** How long a lease without a link is still renewed: for a Worker that links again after a restart of the object. */
export const defaultGrace = '15s'
/** The most leases of one object. One script renews all that are due, and blocks Redis for a few milliseconds. */
export const defaultMostLeases = 1_000
/** How early a lease may be renewed to share a request with others, as a share of its ttl. */
export const windowShare: number = 1 / 6
/** The pause after a renewal without an answer, in milliseconds. It doubles with each further one in a row. */
export const firstPauseMs = 500
/** The longest such pause, as a share of the ttl: a quarter of the interval between renewals. */
export const longestPauseShare: number = 1 / 12
/** How long until the next alarm if the storage itself failed, in milliseconds. */
export const afterFailureMs = 1_000
/** The longest wait of an acquire within a request, in milliseconds: the platform ends work 30 s after the response. */
export const longestWaitMs = 25_000
/** How long an acquire within a request may wait by default, in milliseconds: the same as for any acquire. */
export const defaultWaitMs = 10_000
/** How many subrequests acquires may use by default: the smallest plan allows 50, and releases need some. */
export const defaultBudget = 40
