/** The most requests that share a command: a script over more would block Redis for too long. */
export const mostAtOnce = 100
/** When the event `long-held` is due of a session, in milliseconds: never, for sessions are meant to last. */
export const never: number = 2 ** 50
