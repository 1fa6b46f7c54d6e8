/*
 * The figures of the client. They stand here, not beside their use, because bundlers inline the constants of a module that imports
 * nothing.
 */

// Reaching the bridge.

/** The shortest and the longest pause after a failure. The pause doubles from one to the other, with jitter. */
export const leastPauseMs = 100
export const mostPauseMs = 5_000
/** After this long without a failure the doubling starts again. */
export const wellMs = 10_000
/** This many failures in a row are told; fewer may be a restart. */
export const toldAfter = 3
/** The pause after a refusal: somebody has to change something first. No other pause is longer. */
export const refusedMs = 60_000
/** A pause this long is not worth waiting for. */
export const longPauseMs = 2_000
/** How long the token function may take. Every request has longer, so time is left for the request itself. */
export const tokenMs = 4_000
/** The longest line and the longest answer, in characters: more than the longest keys and URLs need in JSON. */
export const longestText = 16_384

// The stream.

/** The most that the bridge accepts in one request. */
export const mostKeys = 50
export const longestPath = 4_000
/** Keys that are subscribed to within this time share a connection. */
export const joinMs = 20
/** How long the headers may take: the bridge sends them at once. */
export const openMs = 5_000
/** Two missed heartbeats of 15 s, and a second for the network. */
export const silenceMs = 31_000
/** A release longer ago than this came before the new subscriber's contended try: the store's commands end sooner. */
export const recentMs = 5_000

// The long poll.

/** How long the bridge is asked to wait, in seconds. */
export const usualS = 25
/** The same while the connection is in doubt, so that an answer comes soon. */
export const inDoubtS = 1
/** The same for a waiter in a queue while the bridge has not said that it keeps places: less than such a waiter lives by itself. */
export const unkeptS = 4
/** How much later the answer may come, in milliseconds. */
export const lateMs = 5_000
/** An answer "nothing happened" sooner than this is a fault, and asking again at once would spin. */
export const soonMs = 500
/** Runtimes allow about six requests at a time, and acquires, renewals and releases need some. */
export const mostShared = 3
