/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** For how long a waiter keeps a turn, in milliseconds. */
export const windowMs = 4_000
/** The same over HTTP, where requests take longer. */
export const unheardWindowMs = 6_000
/** How long an inbox lives from the last call of its process, in milliseconds. A process that waits calls each 2 s at least. */
export const aliveMs = 12_000
/** The same for the inbox of a waiter that nobody tells: it calls as often as it polls. */
export const unheardAliveMs = 18_000
/** The longest time between two looks, in milliseconds. With 3 s, retries after lost answers outlast a window. */
export const longestRecheckMs = 2_000
/** How much earlier than it would have been asked an arrival of the next class may overtake, in milliseconds: see `QueuedWaiter`. */
export const priorityStepMs = 2_000
/** How many of its first waiters a look names. All of 5,000 would hold the server up. */
export const mostNamed = 100
/** The most keys in one look. */
export const mostKeysPerLook = 50
/** The least time between two looks for one key, in milliseconds. */
export const leastLookPauseMs = 10
/** How long after an expiry the look for it comes, in milliseconds, so that it does not come just before. */
export const afterExpiryMs = 5
/** How long to wait until an inbox is known to hear, in milliseconds. */
export const readyMs = 1_000
/** For how long a leave without an answer is repeated, in milliseconds. After that, its inbox is dead or has missed its turn. */
export const leaveForMs = 12_000
/** Of how many waiters that have ended their keys are known. A late duplicate of a try may enter one of them again. */
export const mostEnded = 256
