/*
 * The figures of queues, for the stores and for those who wait. They have a module of their own that imports nothing, because
 * bundlers inline the constants of such modules only.
 */

/**
 * For how long a waiter keeps its turn, in milliseconds. Two attempts of a second each and a recheck fit in it, so a waiter whose
 * messages and first answers are lost still takes its turn.
 */
export const windowMs = 4_000
/** The same over HTTP, where commands are slower. */
export const httpWindowMs = 6_000
/** For how long an inbox lives without a call of its process, in milliseconds: several rechecks, and a short freeze. */
export const aliveMs = 12_000
/** The same over HTTP. */
export const httpAliveMs = 18_000
/** The same until somebody keeps its place, who is said to: a waiter that vanishes before that holds nobody up for long. */
export const unkeptAliveMs = 6_000
/** How much waiting a priority class is worth, in milliseconds: a waiter is overtaken by a better class for so long. */
export const priorityStepMs = 2_000
/** The longest recheck of a process with waiters, in milliseconds. With a longer one, lost answers outlast the window. */
export const mostRecheckMs = 2_000
/** How many of its waiters a process names in one look. Each costs the server time, and only the first are about to be served. */
export const mostNamed = 100
/** The most entries that one call drops, so that no call holds the server up. Then more is left, and the caller looks again. */
export const mostDropped = 100
/** The most turns of one lock at a time. Whoever takes one lets the next have it. */
export const mostTurns = 100
/** How many of the waiters an inspection shows. */
export const mostShown = 100
/** For how long a store keeps a queue that nobody calls for, in milliseconds. By then every inbox is dead. */
export const queueMemoryMs = 60_000
