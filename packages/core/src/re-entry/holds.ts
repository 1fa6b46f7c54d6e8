import type { Context } from '../context.ts'
import type { LossReason } from '../errors.ts'
import type { Grant } from '../lease/grant.ts'
import type { HeldLease, Parts } from '../lease/held-lease.ts'
import type { EndGrant } from '../lease/release.ts'
import type { ReleaseResult } from '../store/lease-store.ts'

/** A hold within another. */
interface Nested {
  readonly lostBecause: LossReason | undefined
  onLost(reason: LossReason): void
}

/**
 * The holds of one lease by re-entry.
 *
 * The lock goes back with the last of them, in whatever order they end. If the outer lease is released first, the grant stays: it is
 * renewed and lost as before, and the last nested hold ends it in the way in which the outer lease would have.
 */
export class Holds {
  readonly outer: HeldLease
  readonly context: Context
  readonly grant: Grant
  readonly #parts: Parts
  readonly #nested = new Set<Nested>()
  /** How the outer lease ends the grant. Undefined while that lease is held. */
  #endGrant: EndGrant | undefined

  constructor(outer: HeldLease, parts: Parts) {
    const [context, grant] = parts
    this.outer = outer
    this.context = context
    this.grant = grant
    this.#parts = parts
    grant.holds = this
    const { holder } = grant
    grant.holder = {
      onLost: (reason) => {
        // The signal fires last: whoever hears it finds that each hold is lost.
        for (const nested of this.#nested) nested.onLost(reason)
        holder?.onLost(reason)
      },
    }
  }

  get hasNested(): boolean {
    return this.#nested.size > 0
  }

  enter(nested: Nested): void {
    this.#nested.add(nested)
  }

  /** The outer lease is released. Answers whether nested holds go on with the grant. */
  keep(endGrant: unknown): boolean {
    if (this.#nested.size === 0 || this.grant.lostBecause) return false
    this.#endGrant = endGrant as EndGrant
    return true
  }

  /** A nested hold ends. Only the last of all holds talks to the store. */
  async leave(nested: Nested): Promise<ReleaseResult> {
    const [context, grant, watch, successors] = this.#parts
    const endGrant = this.#endGrant
    this.#nested.delete(nested)
    if (this.#nested.size > 0 || !endGrant) {
      const { lostBecause } = nested
      return !lostBecause ? 'released' : lostBecause === 'superseded' ? lostBecause : 'expired'
    }
    if (successors?.handOff(grant)) return 'released'
    watch.forget(grant)
    return endGrant(context, grant, {
      onReleased: (_, subscribers) => successors?.ended(grant, subscribers),
    })
  }
}
