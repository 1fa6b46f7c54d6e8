/*
 * The constants of this package. They are in a module that imports nothing, because bundlers inline constants only from
 * such modules.
 */

/** The longest `Idempotency-Key`, in characters. The draft sets no limit; services that document theirs take 255. */
export const longestKey = 255
/** The largest body of a request, in bytes, unless an option says otherwise. It is in memory while it is hashed. */
export const largestBody = 1_048_576
/** How long a client may take to send its body: a slow phone needs seconds, and a client that has stalled must not stay. */
export const bodyWithin = '30s'
/**
 * How long a run's lease lasts without renewal: it outlasts a pause, and a crash leaves the key in doubt half a minute
 * later.
 */
export const runTtl = '30s'
/** How long the body of an answer may take to be read. The handler has made the answer by then, so its body is close at hand. */
export const resultWithin = '10s'
/**
 * `Retry-After` while the store does not answer, in seconds: a command deadline over TCP. Any sooner, it is likely
 * still silent.
 */
export const storeRetrySeconds = 2
/** `Retry-After` while the server shuts down, in seconds: the next request reaches another server. */
export const closedRetrySeconds = 1
/** `Retry-After` when the locker's budget is used up, in seconds: the next request has one of its own. */
export const spentRetrySeconds = 1
/** `Retry-After` for the outcome of the run that took over, in seconds. */
export const overtakenRetrySeconds = 1
/** The longest `Retry-After` for a run under way, in seconds: most work ends long before its lease would. */
export const longestRetrySeconds = 5
