/*
 * The figures of this room; those that stores go by, too, are in their room. They have a module of their own that imports nothing,
 * because bundlers inline the constants of such modules only.
 */

/** The most keys in one look. */
export const mostKeysPerLook = 50
/** The least time between two looks for one key, in milliseconds. */
export const leastLookPauseMs = 10
/** How long after an expiry the look for it comes, in milliseconds, so that it does not come just before. */
export const afterExpiryMs = 5
/** How long a subscriber that says nothing is waited for, in all, in milliseconds. */
export const readyMs = 1_000
/** For how long a leave without an answer is repeated, in milliseconds. After that, its inbox is dead or has missed its turn. */
export const leaveForMs = 12_000
/** Of how many waiters that have ended the keys are known. A late duplicate of a try may enter one of them again. */
export const mostEnded = 256
/**
 * The most tries and leaves that are under way to a node at once. Each takes the server up to 100 µs: so they are answered well
 * within the time of an attempt.
 */
export const mostUnderWay = 128
