/*
 * The figures of this room. They are in a module that imports nothing, because bundlers inline only the constants of
 * such modules.
 */

/**
 * The first pause after an attempt that failed at once, in milliseconds. It doubles with each further failure, so that
 * a dead server is not hammered.
 */
export const leastRetryPauseMs = 20
/** The longest such pause, in milliseconds. */
export const mostRetryPauseMs = 1_000
/** The longest key, in bytes of UTF-8. */
export const longestKey = 512
/** A timer that comes later than this, in milliseconds, shows that the process was busy. */
export const punctualMs = 20
/** How much one question may be extended because the process was busy, in milliseconds. */
export const longestGraceMs = 1_000
/** The most requests of one turn that share a command. */
export const mostPerCommand = 64
/**
 * The most such commands of one verb that are in flight to a node. The rest of a burst waits until some of them are
 * answered, so that the process reads answers in between and dates each command when it is sent.
 */
export const mostUnderWay = 16
/**
 * The fewest requests that are split into two commands, so that the store carries one out while this process reads the
 * answer to the other. Fewer are not worth a second command.
 */
export const leastToHalve = 8
/** Commands leave after this many microtasks in a row without a further request. Each takes about 50 ns. */
export const quietMicrotasks = 3
