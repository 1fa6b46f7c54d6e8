import { answered, ask } from './ask.ts'
import type { Context } from './context.ts'
import { InvalidOptionError, LeaseholdError, LeaseLostError, type LossCause } from './errors.ts'
import type { ReleaseResult } from './events.ts'
import type { Grant } from './grant.ts'
import type { Extension, Lease } from './lease.ts'
import type { RenewOutcome } from './lease-store.ts'
import { releaseGrant } from './release.ts'
import type { Renewal } from './renewal.ts'
import { type Duration, parseDuration } from './timing/duration.ts'

/** What a caller has of a grant. */
export class HeldLease implements Lease {
  readonly waitedMs: number
  readonly commands: number
  readonly #context: Context
  readonly #grant: Grant
  readonly #renewal: Renewal
  /** Made when somebody asks for the signal: most leases are never asked. */
  #abort: AbortController | undefined
  #released: Promise<ReleaseResult> | undefined

  constructor(
    context: Context,
    renewal: Renewal,
    grant: Grant,
    figures: { readonly waitedMs: number; readonly commands: number },
  ) {
    this.#context = context
    this.#grant = grant
    this.#renewal = renewal
    this.waitedMs = figures.waitedMs
    this.commands = figures.commands
    context.work.hold(this)
    grant.onLost = (cause) => {
      renewal.forget(grant)
      this.#abort?.abort(this.#lostError())
      context.emit({ type: 'lost', key: grant.key, fence: grant.fence, cause })
      context.work.drop(this)
    }
  }

  get key(): string {
    return this.#grant.key
  }

  get token(): string {
    return this.#grant.token
  }

  get fence(): number | null {
    return this.#grant.fence
  }

  get lostBecause(): LossCause | undefined {
    return this.#grant.lostBecause
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController()
      if (this.lostBecause) this.#abort.abort(this.#lostError())
    }
    return this.#abort.signal
  }

  remaining(): number {
    return Math.max(0, this.#grant.remainingMs())
  }

  assertValid(): void {
    this.#assertNotReleased()
    if (this.remaining() > 0) return
    this.lose('expired')
    throw this.#lostError()
  }

  async renew(extension: Extension): Promise<void> {
    const { ttl, by }: { ttl?: Duration; by?: Duration } = extension
    if ((ttl === undefined) === (by === undefined))
      throw new InvalidOptionError('ttl', 'or "by" must be given, not both')
    const askedMs = by === undefined ? parseDuration('ttl', ttl) : parseDuration('by', by)
    this.assertValid()
    const { key, token } = this.#grant
    // Made absolute once, before anything is sent, so that a repeat of the request does not add once more.
    const ttlMs = Math.ceil(by === undefined ? askedMs : this.#grant.expiresInMs() + askedMs)
    const { outcome, sentAt } = await ask<RenewOutcome>(this.#context, this.#grant.ttlMs, (signal) =>
      this.#context.store.renew([{ key, token, ttlMs }], signal),
    )
    this.#assertNotReleased()
    this.#grant.take(outcome, { sentAt, ttlMs })
    if (this.lostBecause) throw this.#lostError()
    answered('renew', outcome)
  }

  release(): Promise<ReleaseResult> {
    // It leaves the schedule before anything else, so that no renewal can follow its release.
    this.#renewal.forget(this.#grant)
    this.#released ??= this.#release()
    return this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  lose(cause: LossCause): void {
    this.#grant.lose(cause)
  }

  async #release(): Promise<ReleaseResult> {
    const { key, fence } = this.#grant
    const outcome = await releaseGrant(this.#context, this.#grant)
    this.#context.emit({ type: 'released', key, fence, outcome, heldMs: this.#grant.heldMs() })
    this.#context.work.drop(this)
    return outcome
  }

  #lostError(): LeaseLostError {
    return new LeaseLostError(this.key, this.lostBecause ?? 'expired')
  }

  #assertNotReleased(): void {
    if (this.#released === undefined) return
    throw new LeaseholdError('LEASE_RELEASED', `The lease of "${this.key}" was released; acquire it again`)
  }
}
