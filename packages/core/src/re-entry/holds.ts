import type { Context } from '../context.ts'
import type { LossReason } from '../errors.ts'
import type { Grant } from '../lease/grant.ts'
import type { HeldLease, Parts } from '../lease/held-lease.ts'
import type { EndGrant } from '../lease/release.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import { instant } from '../timing/validity.ts'

/** A nested hold: one within another. */
interface Nested {
  readonly lostBecause: LossReason | undefined
  onLost(reason: LossReason): void
}

/**
 * The holds of one lease by re-entry.
 *
 * The last of them to end gives the lock back, whatever the order. If the outer lease is released first, the grant
 * stays: it is renewed and can be lost as before, and the last nested hold ends it the way the outer lease would have.
 * A grant that is lost before that goes back with the outer lease, whose work may still be stopping.
 */
export class Holds {
  readonly outer: HeldLease
  readonly context: Context
  readonly grant: Grant
  readonly #parts: Parts
  readonly #nested = new Set<Nested>()
  /** How the outer lease ends the grant. Undefined while that lease is held. */
  #endGrant: EndGrant | undefined
  /** How the last nested hold ended the grant. */
  #ended: Promise<ReleaseResult> | undefined
  /** The outer lease was released after it had been lost. */
  #isGivenBack = false

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
        // The signal fires last, so that whoever hears it finds every hold lost.
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

  /** Called when the outer lease is released. Returns whether nested holds go on with the grant. */
  keep(endGrant: unknown): boolean {
    this.#isGivenBack = this.grant.lostBecause !== undefined
    if (!this.hasNested || this.#isGivenBack) return false
    this.#endGrant = endGrant as EndGrant
    return true
  }

  /** Called when a nested hold ends. Only the last of all holds talks to the store. */
  async leave(nested: Nested): Promise<ReleaseResult> {
    this.#nested.delete(nested)
    const { lostBecause } = this.grant
    // `close` gives back what it has taken away, whichever hold it reaches first. All of them resolve with the result.
    const isClosed = lostBecause === 'closed'
    if (this.#endGrant && (isClosed || !this.hasNested)) {
      this.#ended ??= this.#end(this.#endGrant)
      return this.#ended
    }
    if (isClosed || this.#isGivenBack) return this.outer.release()
    return lostBecause ? known(lostBecause) : 'released'
  }

  #end(endGrant: EndGrant): Promise<ReleaseResult> {
    const [context, grant, watch, successors] = this.#parts
    const now = instant(context.clock)
    if (successors?.handOff(grant, now)) return Promise.resolve('released')
    watch.forget(grant)
    return new Promise((resolve) => {
      const onReleased = (result: ReleaseResult, subscribers: number | null): void => {
        successors?.ended(grant, subscribers)
        resolve(result)
      }
      endGrant(context, grant, { onReleased }, now)
    })
  }
}

/** What is known of a lost grant that nobody gave back. The store may still have it, unless it reported the loss. */
function known(reason: LossReason): ReleaseResult {
  if (reason === 'superseded') return reason
  return reason === 'gone' ? 'expired' : 'unknown'
}
