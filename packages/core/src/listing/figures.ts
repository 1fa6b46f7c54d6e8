/*
 * The figures of this room. They are in a module of their own that imports nothing, because bundlers inline only the
 * constants of such modules.
 */

/** The most locks in one read: about a millisecond of the server's time. */
export const mostRead = 50
/** The most times that a search begins again because keys moved between nodes meanwhile. */
export const mostRestarts = 5
/**
 * The first of the numbers whose binary digits, used as hash tags, reach every slot of a cluster; there are as many of
 * them as slots. A slot is 14 bits of a linear checksum, and 14 characters of these tags differ in one bit each, so
 * each tag has a slot of its own.
 */
export const firstTag: number = 2 ** 14
/** The number of tags looked up in one turn of the event loop: one or two milliseconds. */
export const tagsATurn = 512
