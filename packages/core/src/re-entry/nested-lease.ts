import { printLeases } from '#hints'
import { LeaseholdError, type LeaseLostError, type LossReason } from '../errors.ts'
import { extend } from '../lease/extend.ts'
import type { Grant } from '../lease/grant.ts'
import type { Extension, Lease } from '../lease/lease.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import { Span } from '../timing/span.ts'
import type { Holds } from './holds.ts'

/** A further hold of a lease that is already held. It shares that lease's grant, and has an end of its own. */
export class NestedLease implements Lease {
  readonly key: string
  readonly fence: number
  readonly waitedMs = 0
  readonly commands = 0
  /** Index among the leases of its locker. */
  place = 0
  /** Why the grant was lost, if it was lost during this hold. */
  lostBecause: LossReason | undefined
  readonly #holds: Holds
  readonly #grant: Grant
  #released: Promise<ReleaseResult> | undefined
  /** Ends the `renew` calls in flight. */
  readonly #renewals = new Span()

  static {
    printLeases(this)
  }

  constructor(holds: Holds) {
    this.#holds = holds
    this.key = holds.outer.key
    this.fence = holds.outer.fence
    this.#grant = holds.grant
    holds.context.work.hold(this)
  }

  /** All holds of the lease. Not a field, because fields are printed and the holds know the token. */
  get holds(): Holds {
    return this.#holds
  }

  get token(): string {
    this.#grant.tokenLeft = true
    return this.#grant.token
  }

  get signal(): AbortSignal {
    return this.#holds.outer.signal
  }

  remaining(): number {
    return this.#released !== undefined ? 0 : Math.max(0, this.#grant.remainingMs())
  }

  assertValid(): void {
    if (this.#released !== undefined) throw this.#releasedError()
    this.#grant.check()
    if (this.lostBecause) throw this.lostError()
  }

  renew(extension: Extension): Promise<void> {
    return extend(this.#holds.context, this.#grant, this, this.#renewals, extension)
  }

  release(): Promise<ReleaseResult> {
    if (!this.#released) {
      this.#grant.check()
      this.#renewals.end(this.#releasedError())
      this.#holds.context.work.drop(this)
      this.#released = this.#holds.leave(this)
      this.#holds.context.work.handOver(this.#released)
    }
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  lose(reason: LossReason): void {
    this.#grant.lose(reason)
  }

  onLost(reason: LossReason): void {
    this.lostBecause = reason
    this.#renewals.end(this.lostError())
    this.#holds.context.work.drop(this)
  }

  lostError(reason = this.lostBecause as LossReason, result?: unknown): LeaseLostError {
    return this.#holds.outer.lostError(reason, result)
  }

  #releasedError(): LeaseholdError {
    return new LeaseholdError('LEASE_RELEASED', `This hold of "${this.key}" has ended; acquire it again`, {
      key: this.key,
    })
  }
}
