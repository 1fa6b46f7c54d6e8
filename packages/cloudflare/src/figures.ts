/*
 * The figures of this package. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/**
 * The shortest ttl of a delegated lease. The platform says that an alarm can be late by up to a minute. A lease is due when a third
 * of its ttl is over, so of two minutes 18 s are left in the worst case.
 */
export const defaultMinTtl = '2m'
/** How long a lease without a link is still renewed: for a Worker that links again after a restart of the object. */
export const defaultGrace = '15s'
/** The most leases of one object. All that are due are renewed by one script, which holds Redis up for some milliseconds. */
export const defaultMostLeases = 1_000
/** The share of its ttl by which a lease may be renewed early, to share a request with others. */
export const windowShare: number = 1 / 6
/** The pause after a renewal without an answer, in milliseconds. It doubles with each further one in a row. */
export const firstPauseMs = 500
/** The longest such pause, as a share of the ttl: a quarter of the interval between renewals. */
export const longestPauseShare: number = 1 / 12
/** When the alarm comes again if the storage itself failed, in milliseconds. */
export const afterFailureMs = 1_000
/** The longest wait of an acquire within a request, in milliseconds: the platform ends what goes on after a response after 30 s. */
export const longestWaitMs = 25_000
/** How long an acquire within a request may wait by default, in milliseconds: as long as any. */
export const defaultWaitMs = 10_000
/** Sub-requests that acquires may use by default: the smallest plan allows 50, and releases need some. */
export const defaultBudget = 40
