/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The pause between two campaigns of one candidate, unless it says otherwise: the retry period of client-go. */
export const defaultPause = '2s'
