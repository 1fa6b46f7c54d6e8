import type { Lease } from '@leasehold/core'
import { leaseScope } from '#process-state'

/**
 * The lease of the guarded method that runs, for its fence and its signal; undefined outside of one. The innermost counts.
 *
 * @example
 * ```ts
 * @DistributedLock({ key: (id) => `order:${id}` })
 * async ship(id: string): Promise<void> {
 *   const lease = currentLease()
 *   await this.api.ship(id, { fence: lease?.fence, signal: lease?.signal })
 * }
 * ```
 */
export const currentLease = (): Lease | undefined => leaseScope.getStore()
