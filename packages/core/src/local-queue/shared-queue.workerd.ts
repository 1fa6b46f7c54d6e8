/** Replaces `shared-queue.ts` where calls share nothing: no waiter of one request may be woken from within another. */
export const sharedQueue = () => (): undefined => undefined
