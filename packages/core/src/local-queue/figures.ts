/*
 * The figures of this room. They are in a module that imports nothing, because bundlers inline only the constants of
 * such modules.
 */

/** The timer of a line checks all its calls for waits that are over: at most this many per millisecond, on average. */
export const callsPerMs = 1_000
/** The hand-offs in a run, before other processes get a chance. A brief run has more of them. */
export const mostHandOffs = 16
/** The most hand-offs in a brief run. */
const mostBriefHandOffs = 64
/**
 * A run is brief for this long, in milliseconds. Others lose no more time to it than they get as a head start.
 */
export const briefRunMs = 2
/** The longest run of hand-offs, in milliseconds. */
export const longestRunMs = 1_000
/** How many consecutive fences to reserve with a grant, so that each of its holders has its own. */
export const fences: number = mostHandOffs + 1
/** The same, where calls of this process wait for the grant already, and may hand it off briefly. */
export const briefFences: number = mostBriefHandOffs + 1
/** The head start that other subscribers get over our next waiter after a run of hand-offs, in milliseconds. */
export const headStartMs = 2
/**
 * The head start after grants were passed on, in milliseconds. It comes once in `longestRunMs`, and is the only chance
 * for other processes that poll, because no release reaches them.
 */
export const pollersHeadStartMs = 10
/** The share of the store's command deadline after which our next waiter stops waiting for the answer to a release. */
export const releaseShare = 0.05
/** How often the waiters behind our own holder check the store without a notifier, in milliseconds. */
export const pollingCheckMs = 1_000
/** Waiters whose check intervals differ at most twofold are alike. Otherwise many plans would mean many competitors. */
export const alike = 2
/** How many keys are kept although nobody holds or wants them. Each takes about 400 bytes. */
export const mostIdle = 256
