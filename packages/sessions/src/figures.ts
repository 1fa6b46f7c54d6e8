/** How long an entry lives without renewal, by default. Its end is how others learn of a server that was killed. */
export const defaultTtl = '10s'
/** How long a client may be silent, by default. */
export const defaultSilence = '15s'
/** How often a watched room is looked at, by default, whatever is heard of it. */
export const defaultRecheck = '500ms'
/** How many times a client is looked after within the silence that it is allowed. */
export const beatsPerSilence = 3
/** How long to pause after a look, in milliseconds, however many changes are announced; and as long as the look has taken, if that is more. */
export const leastPauseMs = 20
/** What a socket is closed with, by how its session ended. */
export const closeCodes: Readonly<Record<string, number>> = { 'taken-over': 4001, silent: 4002, lost: 4003, left: 1000 }
/** How many sessions enter at once. */
export const mostEntering = 32
/** How long a session waits for those before it, in milliseconds. */
export const enterWithinMs = 20_000
/** The share of its silence for which a client is told to believe in its session. The rest is for clocks that drift, and timers that are late. */
export const vouchedShare = 0.9
