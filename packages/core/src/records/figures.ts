/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** How long a run that died leaves its key in doubt at least, unless its claim says otherwise. */
export const defaultInDoubtFor = '1h'
/** How long a completed record is kept, unless its completion says otherwise. Retries of a request come within a day. */
export const defaultKeep = '24h'
/** The longest pause between two tries to undo a claim while the store is silent, in milliseconds. It doubles up to that. */
export const longestUndoPauseMs = 30_000
