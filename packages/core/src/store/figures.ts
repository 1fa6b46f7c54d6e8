/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/**
 * The first pause after an attempt that failed at once, in milliseconds. It doubles with each further one, so that a dead
 * server is not hammered.
 */
export const leastRetryPauseMs = 20
/** The longest such pause, in milliseconds. */
export const mostRetryPauseMs = 1_000
/** The longest key, in bytes of UTF-8. */
export const longestKey = 512
/** A timer that comes later than this, in milliseconds, shows that the process was busy. */
export const punctualMs = 20
/** How long one question may be prolonged because the process was busy, in milliseconds. */
export const longestGraceMs = 1_000
/** The most requests that share a command because they met. */
export const mostPerCommand = 64
/**
 * The most such commands of one verb that are under way to a node. The rest of a burst waits until some of them are answered,
 * so that the process reads answers in between and dates each command when it is sent.
 */
export const mostUnderWay = 16
/**
 * The fewest requests that leave as two commands, so that the store carries one out while this process reads the answer to the
 * other. Fewer are not worth the second command.
 */
export const leastToHalve = 8
/** After so many microtasks in a row without a further request, commands leave. Each takes about 50 ns. */
export const quietMicrotasks = 3
/**
 * How many tries in a row to get a lock may stay without an answer. Each may have been carried out, and keeps others out for a ttl
 * then. So what comes after them must not take the lock.
 */
export const mostSilentTries = 2
