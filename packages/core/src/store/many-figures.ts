/*
 * The figures of lock sets, for stores and for waiters. They are in a module that imports nothing, because bundlers
 * inline only the constants of such modules.
 */

/**
 * A set that has waited this long is an elder, in milliseconds: no set that came more than this long after it is served
 * before it. Until then whoever is quickest gets its locks, which keeps them in use.
 */
export const elderAfterMs = 1_000
/** How long a store remembers an elder that does not ask again, in milliseconds: longer than waiters pause. */
export const elderKeptMs = 1_500
/**
 * When to ask again for locks left to an elder, in milliseconds. It takes them at once unless it has died or is slow.
 */
export const elderComesMs = 250
/** How soon an elder asks again by itself when another has got the lock, in milliseconds; it doubles each time. */
export const elderQuickMs = 10
