/** Replaces `shared-queue.ts` where calls share nothing: one request must not wake the waiter of another. */
export const sharedQueue = () => (): undefined => undefined
