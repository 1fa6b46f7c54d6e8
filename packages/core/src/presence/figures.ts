/** The most requests that share a command: a script over more would block Redis for too long. */
export const mostAtOnce = 100
/** When a session's `long-held` event is due, in milliseconds: never, because sessions are meant to last. */
export const never: number = 2 ** 50
