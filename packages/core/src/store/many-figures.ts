/*
 * The figures of sets of locks, for the stores and for those who wait. They have a module of their own that imports nothing, because
 * bundlers inline the constants of such modules only.
 */

/**
 * A set that has waited for so long is an elder, in milliseconds: none that came more than so long after it is served before it. Until
 * then whoever is quickest gets its locks, which keeps them in use.
 */
export const elderAfterMs = 1_000
/** How long a store knows of an elder that does not ask again, in milliseconds: longer than waiters go without asking. */
export const elderKeptMs = 1_500
/** When to ask again for locks that are left to an elder, in milliseconds. It comes at once, unless it has died or is slow. */
export const elderComesMs = 250
/** How soon an elder asks again on its own when another has got the lock, and twice as long each time, in milliseconds. */
export const elderQuickMs = 10
