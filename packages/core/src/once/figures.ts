/*
 * The figures of this room. Their module imports nothing, because bundlers inline constants only from such modules.
 */

/** The largest result, as JSON in UTF-8, in bytes: 64 KiB. Every caller anywhere reads all of it from the store. */
export const mostJsonBytes = 65_536
/**
 * How long a result is kept, unless a call says otherwise. It is longer than any waiter's `recheck`, so that a waiter
 * finds the result even if nobody woke it.
 */
export const defaultKeep = '1m'
/**
 * How long a call waits for a run that is not its own, unless it or its locker says otherwise: longer than for a lock,
 * because work that is worth sharing takes long. A run that dies is replaced when its lease is over, so nobody waits
 * for it in vain.
 */
export const defaultWait = '2m'
/** Marks records whose result is JSON of `once`. Records of other work under the same key have another fingerprint. */
export const fingerprint = 'once:json'
