/*
 * The figures of this room. Their module imports nothing, because bundlers inline constants only from such modules.
 */

/** The default pause between two campaigns of one candidate: the retry period of client-go. */
export const defaultPause = '2s'
