import { LeaseholdError, type LeaseLostError, type LossReason } from '../errors.ts'
import type { HeldLease } from '../lease/held-lease.ts'
import type { Extension, Lease } from '../lease/lease.ts'
import type { ReleaseResult } from '../store/lease-store.ts'

/** How a lock is held: shared by readers, or by one writer alone. */
export type Mode = 'read' | 'write'

/** The grant that several leases share. */
interface SharedGrant {
  readonly held: HeldLease
  /** Ends one of the leases. */
  leave(lease: HoldLease): ReleaseResult | Promise<ReleaseResult>
}

/**
 * A lease of a grant that several leases may share. Its validity and loss are those of the grant. Its signal is its
 * own, because a lease that has been released is never lost.
 */
export class HoldLease<M extends Mode = Mode> implements Lease {
  readonly mode: M
  readonly key: string
  readonly fence: number
  readonly waitedMs: number
  readonly commands: number
  readonly #hold: SharedGrant
  /** Made when `signal` is first read. */
  #abort: AbortController | undefined
  #released: Promise<ReleaseResult> | undefined
  /** Why it was lost before it was released; undefined if it was not. */
  #lostBecause: LossReason | undefined

  constructor(hold: SharedGrant, mode: M, { waitedMs, commands }: Pick<Lease, 'waitedMs' | 'commands'>) {
    this.#hold = hold
    this.mode = mode
    this.key = hold.held.key
    this.fence = hold.held.fence
    this.waitedMs = waitedMs
    this.commands = commands
  }

  get token(): string {
    return this.#hold.held.token
  }

  get lostBecause(): LossReason | undefined {
    return this.#released !== undefined ? this.#lostBecause : this.#hold.held.lostBecause
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController()
      const { signal } = this.#hold.held
      if (this.lostBecause) this.#abort.abort(signal.reason)
      else if (!this.#released) signal.addEventListener('abort', this.#onLost, { once: true })
    }
    return this.#abort.signal
  }

  remaining(): number {
    return this.#released !== undefined ? 0 : this.#hold.held.remaining()
  }

  assertValid(): void {
    if (this.#released !== undefined) {
      throw new LeaseholdError('LEASE_RELEASED', `The lease of "${this.key}" has ended; acquire it again`, {
        key: this.key,
      })
    }
    this.#hold.held.assertValid()
  }

  async renew(extension: Extension): Promise<void> {
    this.assertValid()
    await this.#hold.held.renew(extension)
    this.assertValid()
  }

  release(): Promise<ReleaseResult> {
    if (!this.#released) {
      // A timer may be late: a lease whose validity is over is lost, whoever notices it first.
      if (this.#hold.held.remaining() <= 0) this.#notice()
      this.#lostBecause = this.#hold.held.lostBecause
      if (this.#abort) this.#hold.held.signal.removeEventListener('abort', this.#onLost)
      let settle: ((result: ReleaseResult | Promise<ReleaseResult>) => void) | undefined
      // Set before the hold is left, because a listener may call `release` again from within an event of this release.
      this.#released = new Promise((resolve) => {
        settle = resolve
      })
      settle?.(this.#hold.leave(this))
    }
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  /** The hold it belongs to, for a call that is nested in it. */
  hold(): SharedGrant {
    return this.#hold
  }

  /** @param result what the work returned although its lease was lost */
  lostError(reason?: LossReason, result?: unknown): LeaseLostError {
    return this.#hold.held.lostError(reason, result)
  }

  readonly #onLost = (): void => this.#abort?.abort(this.#hold.held.signal.reason)

  #notice(): void {
    try {
      this.#hold.held.assertValid()
    } catch {
      // Now the grant knows why it was lost, and so do all its leases.
    }
  }
}
