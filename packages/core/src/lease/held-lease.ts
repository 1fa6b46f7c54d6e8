import { printLeases } from '#hints'
import type { Context } from '../context.ts'
import { LeaseholdError, LeaseLostError, type LossReason } from '../errors.ts'
import type { ReleaseResult } from '../store/lease-store.ts'
import { Span } from '../timing/span.ts'
import { type Instant, instant } from '../timing/validity.ts'
import { extend } from './extend.ts'
import type { Grant } from './grant.ts'
import type { Extension, Lease } from './lease.ts'
import { type EndGrant, type Releasing, releaseGrant } from './release.ts'
import type { Watch } from './watch.ts'

/** The waiters of this process, which may get a grant when its holder gives it back. */
export interface Successors {
  /**
   * Hands a grant off to the next waiter if possible. If not, returns false, and its holder now gives it back.
   *
   * @param now the present moment, which the holder has read already
   */
  handOff(grant: Grant, now: Instant): boolean
  /** A grant is no longer ours. `subscribers` is how many were notified of its release, null if that is not known. */
  ended(grant: Grant, subscribers: number | null): void
}

/** The parts that make up a lease. */
export type Parts = readonly [context: Context, grant: Grant, watch: Watch, successors: Successors | undefined]

/** A grant as its holder sees it. It may be handed off to another holder afterwards, who gets a lease of its own. */
export class HeldLease implements Lease, Releasing {
  declare readonly key: string
  declare readonly fence: number
  declare readonly waitedMs: number
  declare readonly commands: number
  /** Index in the roster of its locker's leases. */
  place = 0
  /** Why the grant was lost, if this holder lost it. */
  declare lostBecause: LossReason | undefined
  readonly #context: Context
  readonly #grant: Grant
  readonly #watch: Watch
  readonly #successors: Successors | undefined
  /** Made when `signal` is first read: most leases never need it. */
  #abort: AbortController | undefined
  #released: Promise<ReleaseResult> | undefined
  #settle: ((result: ReleaseResult) => void) | undefined
  /** How long the lease was held when it was given back, in milliseconds. */
  #heldMs = 0
  /** Ends the calls of `renew` that are in flight. Made by the first of them. */
  #renewals: Span | undefined

  static {
    printLeases(this)
  }

  /** @param successors undefined where calls share nothing */
  constructor(
    context: Context,
    watch: Watch,
    successors: Successors | undefined,
    grant: Grant,
    { waitedMs, commands }: Pick<Lease, 'waitedMs' | 'commands'>,
  ) {
    this.#context = context
    this.#grant = grant
    this.#watch = watch
    this.#successors = successors
    this.key = grant.key
    this.fence = grant.fence
    this.waitedMs = waitedMs
    this.commands = commands
    grant.holder = this
    // A grant can be lost between two holders.
    if (grant.lostBecause) this.onLost(grant.lostBecause)
    else context.work.hold(this)
  }

  get token(): string {
    this.#grant.tokenLeft = true
    return this.#grant.token
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController()
      if (this.lostBecause) this.#abort.abort(this.lostError())
    }
    return this.#abort.signal
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
    this.#renewals ??= new Span()
    return extend(this.#context, this.#grant, this, this.#renewals, extension)
  }

  release(): Promise<ReleaseResult> {
    return this.end(releaseGrant)
  }

  /** Ends the hold, unless it has ended. Returns how it ended the first time. */
  end(endGrant: EndGrant): Promise<ReleaseResult> {
    const now = instant(this.#context.clock)
    // The timer may be late. A validity that has run out is a loss, whoever notices it first.
    if (!this.#released) this.#grant.check(now)
    if (!this.#released) {
      this.#released = new Promise((resolve) => {
        this.#settle = resolve
      })
      this.#heldMs = Math.round(this.#grant.heldMs(now))
      // Pending calls of `renew` reject at once and send nothing more.
      this.#renewals?.end(this.#releasedError())
      // Only once `#released` is set: a listener may call `release` again from within an event of this release.
      this.#end(endGrant, now)
      this.#context.work.handOver(this.#released)
    }
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  lose(reason: LossReason): void {
    this.#grant.lose(reason)
  }

  /** The lease's parts, for re-entry. */
  parts(): Parts {
    return [this.#context, this.#grant, this.#watch, this.#successors]
  }

  /** Leaves the grant to nested holds, hands it off to the next waiter of this process, or ends it. */
  #end(endGrant: EndGrant, now: Instant): void {
    if (this.#grant.holds?.keep(endGrant) || this.#successors?.handOff(this.#grant, now)) this.#ended('released')
    else {
      // The grant leaves the schedule first, so that no renewal can follow its release.
      this.#watch.forget(this.#grant)
      endGrant(this.#context, this.#grant, this, now)
    }
  }

  onReleased(result: ReleaseResult, subscribers: number | null): void {
    this.#successors?.ended(this.#grant, subscribers)
    this.#ended(result)
  }

  #ended(outcome: ReleaseResult): void {
    this.#context.work.drop(this)
    const { key, fence } = this
    this.#context.emit?.({ type: 'released', key, fence, outcome, heldMs: this.#heldMs })
    this.#settle?.(outcome)
  }

  /** The grant is lost. Notifies the holder through its signal, its pending calls of `renew` and the event `lost`. */
  onLost(reason: LossReason): void {
    this.lostBecause = reason
    this.#watch.forget(this.#grant)
    const error = this.lostError()
    this.#renewals?.end(error)
    this.#abort?.abort(error)
    const { key, fence } = this
    this.#context.emit?.({ type: 'lost', key, fence, reason, cause: error.cause })
    this.#context.work.drop(this)
    this.#successors?.ended(this.#grant, 0)
  }

  /** @param result what the work returned although its lease was lost */
  lostError(reason = this.lostBecause as LossReason, result?: unknown): LeaseLostError {
    return new LeaseLostError(this.key, reason, reason === 'unreachable' ? this.#grant.trouble : undefined, result)
  }

  #releasedError(): LeaseholdError {
    return new LeaseholdError('LEASE_RELEASED', `The lease of "${this.key}" has ended; acquire it again`, {
      key: this.key,
    })
  }
}
