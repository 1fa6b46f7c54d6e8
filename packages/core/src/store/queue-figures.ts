/*
 * The figures of queues, for stores and for waiters. They are in a module that imports nothing, because bundlers inline
 * only the constants of such modules.
 */

/**
 * How long a waiter keeps its turn, in milliseconds. Two attempts of a second each and a recheck fit in it, so a waiter
 * whose messages and first answers are lost still takes its turn.
 */
export const windowMs = 4_000
/** The same over HTTP, where commands are slower. */
export const httpWindowMs = 6_000
/** How long an inbox lives without a call of its process, in milliseconds: several rechecks, and a short freeze. */
export const aliveMs = 12_000
/** The same over HTTP. */
export const httpAliveMs = 18_000
/** The same until a place keeper, if any, keeps the place: a waiter that vanishes sooner holds nobody up for long. */
export const unkeptAliveMs = 6_000
/** How much waiting a priority class is worth, in milliseconds: for this long a better class overtakes a waiter. */
export const priorityStepMs = 2_000
/** The longest recheck of a process with waiters, in milliseconds. With a longer one, lost answers outlast the window. */
export const mostRecheckMs = 2_000
/** How many of its waiters a process names in one look. Each costs the server time, and only the first are about to be served. */
export const mostNamed = 100
/** The most entries that one call drops, so that none holds the server up. If more are left, the caller looks again. */
export const mostDropped = 100
/** The most turns of one lock at a time. Whoever takes its turn makes room for the next. */
export const mostTurns = 100
/** How many waiters an inspection shows. */
export const mostShown = 100
/** How many holders an inspection shows. */
export const mostHolders = 1_000
/** How long a store keeps a queue that nobody calls for, in milliseconds. By then every inbox is dead. */
export const queueMemoryMs = 60_000
