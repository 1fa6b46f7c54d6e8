/*
 * The figures of this package. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The longest `Idempotency-Key`, in characters. The draft sets no bound; services that document theirs take 255. */
export const longestKey = 255
/** The largest body of a request, in bytes, unless an option says otherwise. It is in memory while it is hashed. */
export const largestBody = 1_048_576
/** How long a client may take to send its body: a slow phone needs seconds, and a client that has stalled must not stay. */
export const bodyWithin = '30s'
/** The lease of a run without renewal: it outlasts a pause, and a crash leaves its key in doubt half a minute later. */
export const runTtl = '30s'
/** How long the body of an answer may take to be read. The handler has made the answer by then, so its body is close at hand. */
export const resultWithin = '10s'
/** When to come back while the store is silent, in seconds: a command deadline over TCP. Sooner, it is likely to be silent yet. */
export const storeRetrySeconds = 2
/** The same while the server shuts down: the next request reaches another. */
export const closedRetrySeconds = 1
/** When to ask for the outcome of the run that took over, in seconds. */
export const overtakenRetrySeconds = 1
/** The longest `Retry-After` for a run under way, in seconds: most work ends long before its lease would. */
export const longestRetrySeconds = 5
