/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** How many permits a reader takes. */
export const readerPermits = 1
/** How many a writer takes: all there are. More readers than that at a time would have to wait. */
export const writerPermits = 1_000_000
