/*
 * The constants of the client. They are here, not next to their use, because bundlers inline the constants of a module
 * that imports nothing.
 */

// Reaching the bridge.

/**
 * The shortest and the longest pause after a failure, in milliseconds. The pause doubles from one to the other, with
 * jitter.
 */
export const leastPauseMs = 100
export const mostPauseMs = 5_000
/** After this long without a failure, the doubling starts over. */
export const wellMs = 10_000
/** This many failures in a row are reported; fewer may be a restart. */
export const toldAfter = 3
/** The pause after a refusal: somebody has to change something first. No other pause is longer. */
export const refusedMs = 60_000
/** In a pause longer than this, waiters check on their own. */
export const longPauseMs = 2_000
/** How long the token function may take. Every request has more time, so some is left for the request itself. */
export const tokenMs = 4_000
/** The longest line and the longest answer, in characters: more than the longest keys and URLs need in JSON. */
export const longestText = 16_384

// The stream.

/** The most keys in one request, and the longest path and query, in characters: the bridge accepts both. */
export const mostKeys = 50
export const longestPath = 4_000
/** Keys subscribed to within this time share a connection. */
export const joinMs = 20
/** How long the headers may take: the bridge sends them at once. */
export const openMs = 5_000
/** The longest silence of a stream: two missed heartbeats of 15 s, and a second for the network. */
export const silenceMs = 31_000
/** A release longer ago than this came before the new subscriber's contended try: store commands take less time. */
export const recentMs = 5_000

// The long poll.

/** How long the bridge is asked to wait, in seconds. */
export const usualS = 25
/** The same while the connection is in doubt, so that an answer comes soon. */
export const inDoubtS = 1
/**
 * The same for a waiter in a queue while the bridge has not confirmed that it keeps places: less time than such a
 * waiter stays in the queue on its own.
 */
export const unkeptS = 4
/** How much later than asked the answer may come, in milliseconds. */
export const lateMs = 5_000
/** If the answer "nothing happened" comes sooner than this, that is a fault, and asking again at once would spin. */
export const soonMs = 500
/**
 * The most polls that calls share: runtimes allow about six requests at a time, and acquires, renewals and releases
 * need some.
 */
export const mostShared = 3
