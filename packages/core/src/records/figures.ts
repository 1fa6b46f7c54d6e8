/*
 * The figures of this room. Their module imports nothing, because bundlers inline constants only from such modules.
 */

/** How long, at least, a run that died leaves its key in doubt, unless its claim says otherwise. */
export const defaultInDoubtFor = '1h'
/**
 * How long a completed record is kept, unless its completion says otherwise. Retries of a request come within a day.
 */
export const defaultKeep = '24h'
/**
 * The longest pause between two tries to undo a claim while the store is silent, in milliseconds. It doubles up to
 * that.
 */
export const longestUndoPauseMs = 30_000
