/*
 * The figures of this room. Their module imports nothing, because bundlers inline constants only from such modules.
 */

/** The most permits that a semaphore can have. A larger number is taken for a mistake, such as a duration. */
export const mostPermits = 1_000_000
