/*
 * The figures of this room. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

/** How many calls of a line may be checked per millisecond, on average, for those whose wait is over. */
export const callsPerMs = 1_000
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
export const pollingCheckMs = 1_000
/** Waiters that check within twice each other's time are alike: or each of many plans would have a competitor of its own. */
export const alike = 2
