import { LeaseLostError } from '../errors.ts'
import type { BlockScoped } from '../lease/block-scoped.ts'
import type { HeldLease } from '../lease/held-lease.ts'
import type { Extension, Lease } from '../lease/lease.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import { naming } from './naming.ts'

/**
 * Several locks, granted together to one caller.
 *
 * Each lock has a lease of its own. If one is lost, the set's signal fires, and the others stay until they are
 * released. A set is never handed off within a process: its release goes to the store.
 */
export interface LeaseSet extends BlockScoped {
  /** The leases by key, in the order in which the locks are taken. Each has the fence of its own key. */
  readonly leases: ReadonlyMap<string, Lease>
  /** Aborted with the `LeaseLostError` of the first lease that is lost; a release never aborts it. */
  readonly signal: AbortSignal
  /** How long the acquire took, in whole milliseconds. */
  readonly waitedMs: number
  /** How many store commands the acquire used. */
  readonly commands: number
  /** How long all of the leases may still be trusted, in milliseconds; 0 when one of them may not. */
  remaining(): number
  /**
   * Throws unless all of the leases may still be trusted: see `Lease`.
   *
   * @throws LeaseLostError if one of them is no longer ours
   * @throws LeaseholdError with code `LEASE_RELEASED` after release of the set, or of one of its leases
   */
  assertValid(): void
  /**
   * Extends all of the leases once, with one command for each node: see `Lease`.
   *
   * @throws LeaseLostError if one of them is no longer ours. The others may have been extended
   * @throws StoreUnavailableError if no answer came for one of them
   * @throws InvalidOptionError for a bad extension
   * @throws LeaseholdError with code `LEASE_RELEASED` after release of the set, or of one of its leases
   */
  renew(extension: Extension): Promise<void>
  /**
   * Gives all of the leases back, with one command for each node, and resolves with how that ended for each key. It
   * never rejects, and settles within the store's command deadline. Called again, it gives the first answer.
   *
   * @example
   * ```ts
   * const results = await both.release()
   * if (results.get('stock:1') !== 'released') console.warn('The first lock was not ours to the end')
   * ```
   */
  release(): Promise<ReadonlyMap<string, ReleaseResult>>
}

/**
 * A set as its holder sees it. The requests that its leases make in one turn leave together; their context sees to
 * that.
 */
export class HeldSet implements LeaseSet {
  readonly leases: ReadonlyMap<string, HeldLease>
  readonly waitedMs: number
  readonly commands: number
  /** Made when `signal` is first read. */
  #abort: AbortController | undefined

  constructor(leases: ReadonlyMap<string, HeldLease>, { waitedMs, commands }: Pick<LeaseSet, 'waitedMs' | 'commands'>) {
    this.leases = leases
    this.waitedMs = waitedMs
    this.commands = commands
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController()
      this.#abort = abort
      for (const { signal } of this.leases.values()) {
        if (signal.aborted) abort.abort(signal.reason)
        else signal.addEventListener('abort', () => abort.abort(signal.reason), { once: true })
      }
    }
    return this.#abort.signal
  }

  /** The first of its leases that is lost. */
  get lost(): HeldLease | undefined {
    return this.#all().find((lease) => lease.lostBecause)
  }

  remaining(): number {
    return Math.min(...this.#all().map((lease) => lease.remaining()))
  }

  assertValid(): void {
    for (const lease of this.#all()) lease.assertValid()
  }

  async renew(extension: Extension): Promise<void> {
    const leases = this.#all()
    const renewed = await Promise.allSettled(leases.map((lease) => lease.renew(extension)))
    const reasons = renewed.flatMap((each, at): unknown[] =>
      each.status === 'rejected' ? [naming((leases[at] as Lease).key, each.reason)] : [],
    )
    // A lost lease matters more than a missing answer for another.
    if (reasons.length > 0) throw reasons.find((reason) => reason instanceof LeaseLostError) ?? reasons[0]
  }

  async release(): Promise<ReadonlyMap<string, ReleaseResult>> {
    const results = await Promise.all(this.#all().map(async (lease) => [lease.key, await lease.release()] as const))
    return new Map(results)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  /** What its holder may know: no token. */
  toJSON(): object {
    const { waitedMs, commands } = this
    const leases = this.#all().map(({ key, fence }) => ({ key, fence }))
    return { leases, waitedMs, commands, remainingMs: Math.floor(this.remaining()) }
  }

  #all(): readonly HeldLease[] {
    return [...this.leases.values()]
  }
}
