import type { Lease } from '@leasehold/core'
import { leaseScope } from '#process-state'

/**
 * The lease of the guarded method that is running, for its fence and its signal; undefined outside of one. If guarded
 * methods are nested, it is the innermost one's.
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
