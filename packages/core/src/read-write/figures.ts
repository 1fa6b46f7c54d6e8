/*
 * The figures of this room. Their module imports nothing, because bundlers inline constants only from such modules.
 */

/** How many permits a reader takes. */
export const readerPermits = 1
/** How many permits a writer takes: all there are. More readers than that at a time would have to wait. */
export const writerPermits = 1_000_000
