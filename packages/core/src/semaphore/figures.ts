/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The most permits that a semaphore can have. A number beyond it is taken for a mistake, such as a time. */
export const mostPermits = 1_000_000
