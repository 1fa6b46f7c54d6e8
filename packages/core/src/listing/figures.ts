/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The most locks of one read: a millisecond or two for the server. */
export const mostRead = 200
/** How often a search begins again at most because keys moved between nodes meanwhile. */
export const mostRestarts = 5
/** Among the hash tags `{0}`, `{1}` … so many reach every slot of a cluster. */
export const slotProbes = 109_758
