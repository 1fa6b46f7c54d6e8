import { answered, ask } from './ask.ts'
import type { Context } from './context.ts'
import { InvalidOptionError, LeaseholdError, LeaseLostError } from './errors.ts'
import { emit, type ReleaseResult } from './events.ts'
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
  readonly #onEnd: () => void

  /** @param onEnd called when it is given back or lost */
  constructor(
    context: Context,
    grant: Grant,
    renewal: Renewal,
    figures: { readonly waitedMs: number; readonly commands: number },
    onEnd: () => void,
  ) {
    this.#context = context
    this.#grant = grant
    this.#renewal = renewal
    this.waitedMs = figures.waitedMs
    this.commands = figures.commands
    this.#onEnd = onEnd
    grant.onLost = (cause) => {
      this.#abort?.abort(this.#lostError())
      emit(context.onEvent, { type: 'lost', key: grant.key, fence: grant.fence, cause })
      onEnd()
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

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController()
      if (this.#grant.lostBecause) this.#abort.abort(this.#lostError())
    }
    return this.#abort.signal
  }

  remaining(): number {
    return Math.max(0, this.#grant.remainingMs())
  }

  assertValid(): void {
    if (this.#released !== undefined) throw this.#releasedError()
    if (this.#grant.remainingMs() > 0) return
    this.#lose('expired')
    throw this.#lostError()
  }

  async renew(extension: Extension): Promise<void> {
    const askedMs = extensionMs(extension)
    this.assertValid()
    const { key, token } = this.#grant
    // Made absolute once, before anything is sent, so that a repeat of the request does not add once more.
    const ttlMs = Math.ceil('by' in extension ? this.#grant.expiresInMs() + askedMs : askedMs)
    const { outcome, sentAt } = await ask<RenewOutcome>(this.#context, this.#grant.ttlMs, (signal) =>
      this.#context.store.renew([{ key, token, ttlMs }], signal),
    )
    if (this.#released !== undefined) throw this.#releasedError()
    if (outcome.type === 'renewed') this.#grant.extend({ sentAt, ttlMs })
    if (outcome.type === 'gone' || outcome.type === 'superseded') this.#lose(outcome.type)
    if (this.#grant.lostBecause) throw this.#lostError()
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

  async #release(): Promise<ReleaseResult> {
    const { key, fence } = this.#grant
    const outcome = await releaseGrant(this.#context, this.#grant)
    emit(this.#context.onEvent, { type: 'released', key, fence, outcome, heldMs: this.#grant.heldMs() })
    this.#onEnd()
    return outcome
  }

  #lose(cause: 'expired' | 'gone' | 'superseded'): void {
    this.#renewal.forget(this.#grant)
    this.#grant.lose(cause)
  }

  #lostError(): LeaseLostError {
    return new LeaseLostError(this.key, this.#grant.lostBecause ?? 'expired')
  }

  #releasedError(): LeaseholdError {
    return new LeaseholdError('LEASE_RELEASED', `The lease of "${this.key}" was released; acquire it again`)
  }
}

function extensionMs(extension: { ttl?: Duration; by?: Duration }): number {
  const { ttl, by } = extension
  if ((ttl === undefined) === (by === undefined)) throw new InvalidOptionError('ttl', 'or "by" must be given, not both')
  return ttl === undefined ? parseDuration('by', by) : parseDuration('ttl', ttl)
}
