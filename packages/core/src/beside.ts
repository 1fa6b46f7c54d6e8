/*
 * Maps from a locker or a store to what separately imported capabilities need from it. A process that imports this
 * package in one place and requires it in another runs two builds of it, but has this module once: on servers `#beside`
 * is the same file for both. It imports nothing, so its users state the types of the values.
 */

/** The shared state of each locker. */
export const lockers: WeakMap<object, unknown> = new WeakMap()

/** The record ports that stores offer themselves. */
export const recordOffers: WeakMap<object, unknown> = new WeakMap()

/** The hand-over ports that stores offer themselves. */
export const handOverOffers: WeakMap<object, unknown> = new WeakMap()

/** The queue ports that stores offer themselves. */
export const queueOffers: WeakMap<object, unknown> = new WeakMap()

/** The inboxes that notifiers offer. */
export const inboxOffers: WeakMap<object, unknown> = new WeakMap()

/** The ports for several locks in one request that stores offer themselves. */
export const manyOffers: WeakMap<object, unknown> = new WeakMap()

/** The place keepers that notifiers offer to lone waiters in queues. */
export const placeOffers: WeakMap<object, unknown> = new WeakMap()

/** The ports for delayed releases that stores offer themselves. */
export const releaseAfterOffers: WeakMap<object, unknown> = new WeakMap()

/** What stores, transports and notifiers report about themselves that matters to locks. */
export const findingOffers: WeakMap<object, unknown> = new WeakMap()

/** The listing ports that stores offer themselves. */
export const listingOffers: WeakMap<object, unknown> = new WeakMap()

/** The ports for revoking from one holder that stores offer themselves. */
export const revokeFromOffers: WeakMap<object, unknown> = new WeakMap()

/** The presence ports that stores offer themselves. */
export const presenceOffers: WeakMap<object, unknown> = new WeakMap()
