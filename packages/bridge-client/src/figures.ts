/*
 * The figures of the client. They stand here and not beside their use because bundlers put the constants of a module that
 * imports nothing where they are used.
 */

// Reaching the bridge.

/** The pause after a failure. It doubles from the one to the other, with jitter. */
export const leastPauseMs = 100
export const mostPauseMs = 5_000
/** After so long without a failure the doubling starts again. */
export const wellMs = 10_000
/** So many failures in a row are told; fewer are a restart. */
export const toldAfter = 3
/** After a refusal the client asks again after so long: somebody has to change something first. No other pause is longer. */
export const refusedMs = 60_000
/** A pause this long is not worth waiting for. */
export const longPauseMs = 2_000
/** How long the function for a token may take. It is less than any request has, so that time is left for the request. */
export const tokenMs = 4_000
/** The longest line, and the longest answer, in characters: longer than the longest keys and URLs in JSON. */
export const longestText = 16_384

// The stream.

/** What the bridge takes in one request. */
export const mostKeys = 50
export const longestPath = 4_000
/** Keys that are subscribed to within so long share a connection. */
export const joinMs = 20
/** How long the headers may take: the bridge sends them at once. */
export const openMs = 5_000
/** Two missed heartbeats of 15 s, and a second for the way. */
export const silenceMs = 31_000
/** A release longer ago than this came before the new subscriber's try was refused: the store's commands end sooner. */
export const recentMs = 5_000

// The long poll.

/** How long the bridge is asked to wait, in seconds. */
export const usualS = 25
/** The same while the connection is in doubt, so that an answer comes soon. */
export const inDoubtS = 1
/** How much later its answer may come, in milliseconds. */
export const lateMs = 5_000
/** The answer "nothing happened" sooner than this is not what was asked for, and to ask again at once would spin. */
export const soonMs = 500
/** Runtimes allow about six requests at a time, and acquires, renewals and releases need theirs. */
export const mostShared = 3
