/** How long an entry lives without renewal, by default. When a server is killed, others learn of it by this expiry. */
export const defaultTtl = '10s'
/** How long a client may be silent, by default. */
export const defaultSilence = '15s'
/** How often a watched room is read, by default, even without hints. */
export const defaultRecheck = '500ms'
/** How many times a client is pinged within the silence that it is allowed. */
export const beatsPerSilence = 3
/**
 * How long to pause after a look at least, in milliseconds, however many changes are announced. A look that took longer
 * is followed by a pause of its own length.
 */
export const leastPauseMs = 20
/** The code a socket is closed with, by how its session ended. */
export const closeCodes: Readonly<Record<string, number>> = { 'taken-over': 4001, silent: 4002, lost: 4003, left: 1000 }
/** How many sessions may enter at once. */
export const mostEntering = 32
/** How long a session waits for its turn to enter, in milliseconds. */
export const enterWithinMs = 20_000
/**
 * The share of the silence for which a client may trust its session. The rest allows for clock drift and late timers.
 */
export const vouchedShare = 0.9
