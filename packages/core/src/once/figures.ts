/*
 * The figures of this room. They have a module of their own that imports nothing, because bundlers inline the constants of such
 * modules only.
 */

/** The largest result, as JSON in UTF-8, in bytes: 64 KiB. Each caller anywhere reads it whole from the store. */
export const mostJsonBytes = 65_536
/**
 * How long a result is kept, unless a call says otherwise. It is longer than any waiter's `recheck`, so that whoever waited finds it
 * although nobody woke it.
 */
export const defaultKeep = '1m'
/**
 * How long a call waits for a run that is not its own, unless it or its locker says otherwise: longer than for a lock, because it is
 * work that takes long which is worth sharing. A run that dies is replaced when its lease is over, so nobody waits for it in vain.
 */
export const defaultWait = '2m'
/** Marks records whose result is JSON of `once`. Records of other work under the same key have another fingerprint. */
export const fingerprint = 'once:json'
