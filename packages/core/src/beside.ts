/*
 * Maps from a locker or a store to what imported capabilities need of it. A process that imports this package in one place and
 * requires it in another runs two builds of it, and has this module once: on servers `#beside` is the same file for both. It imports
 * nothing, so whoever uses it says what is in it.
 */

/** What the calls of each locker share. */
export const lockers: WeakMap<object, unknown> = new WeakMap()

/** The records that stores offer themselves. */
export const recordOffers: WeakMap<object, unknown> = new WeakMap()

/** The hand-over that stores offer themselves. */
export const handOverOffers: WeakMap<object, unknown> = new WeakMap()

/** The queues that stores offer themselves. */
export const queueOffers: WeakMap<object, unknown> = new WeakMap()

/** The inboxes that notifiers offer. */
export const inboxOffers: WeakMap<object, unknown> = new WeakMap()

/** The requests for several locks that stores offer themselves. */
export const manyOffers: WeakMap<object, unknown> = new WeakMap()

/** What notifiers offer to waiters in queues that are alone. */
export const placeOffers: WeakMap<object, unknown> = new WeakMap()

/** The releases that take effect later, which stores offer themselves. */
export const releaseAfterOffers: WeakMap<object, unknown> = new WeakMap()

/** What stores, transports and notifiers know of themselves that matters to locks. */
export const findingOffers: WeakMap<object, unknown> = new WeakMap()

/** The lists of locks that stores offer themselves. */
export const listingOffers: WeakMap<object, unknown> = new WeakMap()

/** The revocations from one holder that stores offer themselves. */
export const revokeFromOffers: WeakMap<object, unknown> = new WeakMap()

/** The rooms that stores offer themselves. */
export const presenceOffers: WeakMap<object, unknown> = new WeakMap()
