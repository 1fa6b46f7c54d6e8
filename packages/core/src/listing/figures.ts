/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The most locks of one read: a millisecond or two for the server. */
export const mostRead = 200
/** How often a search begins again at most because keys moved between nodes meanwhile. */
export const mostRestarts = 5
/**
 * The first of the numbers whose binary digits, as hash tags, reach every slot of a cluster; there are as many of them as slots. A slot
 * is 14 bits of a checksum that is linear, and in 14 characters of these tags one bit differs: so each tag has a slot of its own.
 */
export const firstTag: number = 2 ** 14
/** How many tags are looked up in one turn of the event loop: one or two milliseconds. */
export const tagsATurn = 512
