import { InvalidOptionError } from '../errors.ts'
import type { HeldLease } from '../lease/held-lease.ts'
import type { Permits } from '../semaphore/permits.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import { HoldLease, type Mode } from './hold-lease.ts'
import { keepRead } from './keep-read.ts'

/**
 * One grant of a read/write lock, and the leases that share it: the first, and those nested in it.
 *
 * States: *writing*, while one of its leases is a writer's → *reading*, once only readers' are left, and the store
 * keeps one permit of the grant → *ended*, with the last of them. A grant that began with a read begins as *reading*.
 * The modes count separately: releasing a nested read does not affect the write, and releasing the write first keeps
 * the read.
 */
export class Hold {
  readonly held: HeldLease
  readonly permits: Permits
  readonly #leases = new Set<HoldLease>()
  #isWriting = false

  constructor(permits: Permits, held: HeldLease) {
    this.permits = permits
    this.held = held
  }

  /**
   * Makes another lease of the grant.
   *
   * @throws InvalidOptionError for a write within a read
   */
  enter<M extends Mode>(mode: M, figures: { readonly waitedMs: number; readonly commands: number }): HoldLease<M> {
    if (mode === 'write' && this.#leases.size > 0 && !this.#isWriting) {
      throw new InvalidOptionError(
        'within',
        'must be a write lease: a read is never upgraded, because two that wait for each other would never end; release it, and write',
      )
    }
    const lease = new HoldLease(this, mode, figures)
    this.#leases.add(lease)
    this.#isWriting ||= mode === 'write'
    return lease
  }

  /** Ends one of its leases. Only the last write and the last lease of all concern the store. */
  leave(lease: HoldLease): ReleaseResult | Promise<ReleaseResult> {
    this.#leases.delete(lease)
    // If its validity is over or the locker is closed, all its leases have ended, and the first to leave learns how.
    if (this.#leases.size === 0 || this.held.remaining() <= 0) return this.held.release()
    if (!this.#isWriting || [...this.#leases].some(({ mode }) => mode === 'write')) return 'released'
    this.#isWriting = false
    return keepRead(this.permits, this.held)
  }
}
