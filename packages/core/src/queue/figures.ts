/*
 * The figures of this room; those that stores also go by are in the stores' room. Their module imports nothing, because
 * bundlers inline constants only from such modules.
 */

/** The most keys in one look. */
export const mostKeysPerLook = 50
/** The least time between two looks for one key, in milliseconds. */
export const leastLookPauseMs = 10
/** How long after an expiry the look for it is sent, in milliseconds, so that it does not come just before. */
export const afterExpiryMs = 5
/** How long, in total, waiters wait for a silent subscriber, in milliseconds. */
export const readyMs = 1_000
/**
 * How long an unanswered leave is repeated, in milliseconds. After that, the waiter's inbox is dead or has missed its
 * turn.
 */
export const leaveForMs = 12_000
/** For how many ended waiters the keys are remembered. A late duplicate of a try may enter one of them again. */
export const mostEnded = 256
/**
 * The most tries and leaves in flight to a node at once. Each takes the server up to 100 µs, so they are answered well
 * within the time of an attempt.
 */
export const mostUnderWay = 128
