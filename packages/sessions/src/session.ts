import type { Lease, LossReason } from '@leasehold/core'
import type { TakeOver } from '@leasehold/core/presence'
import type { Entrant } from './displaced.ts'
import { vouchedShare } from './figures.ts'

/** How a session ended: see {@link SessionEvent}. */
export type SessionEnd = 'left' | 'silent' | 'taken-over' | 'lost'

/**
 * A session of this server: one connection of a user, in one role of one resource. It is an entry of its own. Whatever comes late from
 * an earlier connection of the same user, such as the end of its socket, concerns that connection's session and not this one.
 */
export interface Session extends AsyncDisposable {
  readonly resource: string
  readonly role: string
  readonly sessionId: string
  readonly userId: string
  /** Grows with each session of the resource. Pass it to what the role guards, and let that refuse a lower one. */
  readonly fence: number
  /** How it ended; undefined while it lasts. */
  readonly end: SessionEnd | undefined
  /** Resolves when it ends, and never rejects. */
  readonly ended: Promise<SessionEnd>
  /** Whether it may be believed now, whatever timers do. Ask before each act that the role allows. */
  readonly isValid: boolean
  /**
   * For how long it may be believed if nothing more is heard, neither of its client nor of the store, in milliseconds; 0 when it may not.
   * Send it to the client with the answer to a sign of life. A client that counts it from when *it sent* that sign stops believing before
   * the role is free for others. A forced take-over does not wait for that: tell the client of it.
   */
  remaining(): number
  /**
   * Says that something was heard of the client. Call it for each message, unless you gave the session its socket. Nothing else keeps a session
   * alive: once its client has been silent for `silence`, it ends, however well this server is.
   */
  seen(): void
  /** Ends it, and gives its role back. Once it has resolved, nobody sees it any more. It never rejects; a session that has ended stays as it is. */
  leave(): Promise<void>
}

/** What a session tells those who keep it. */
export interface Keeper {
  readonly silenceMs: number
  now(): number
  onEnd(session: LiveSession, end: SessionEnd, reason: LossReason | undefined): void
}

export class LiveSession implements Session, Entrant {
  readonly resource: string
  readonly role: string
  readonly sessionId: string
  readonly userId: string
  readonly exclusive: boolean
  readonly takeOver: TakeOver
  readonly ended: Promise<SessionEnd>
  /** When its client was heard of last. */
  seenMs: number
  readonly #lease: Lease
  readonly #keeper: Keeper
  #end: SessionEnd | undefined
  #settle: (end: SessionEnd) => void = () => undefined
  #released: Promise<unknown> | undefined

  constructor(entrant: Entrant, lease: Lease, keeper: Keeper) {
    this.resource = entrant.resource
    this.role = entrant.role
    this.sessionId = entrant.sessionId
    this.userId = entrant.userId
    this.exclusive = entrant.exclusive
    this.takeOver = entrant.takeOver
    this.#lease = lease
    this.#keeper = keeper
    this.seenMs = keeper.now()
    this.ended = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** Ends with its lease, from now on. It may be lost already. */
  begin(): void {
    const { signal } = this.#lease
    const onLost = (): void => {
      const { reason } = signal.reason as { readonly reason: LossReason }
      this.finish(reason === 'superseded' ? 'taken-over' : reason === 'closed' ? 'left' : 'lost', reason)
    }
    if (signal.aborted) onLost()
    else signal.addEventListener('abort', onLost, { once: true })
  }

  get fence(): number {
    return this.#lease.fence
  }

  get end(): SessionEnd | undefined {
    return this.#end
  }

  get isValid(): boolean {
    return this.#end === undefined && this.#lease.remaining() > 0
  }

  remaining(): number {
    if (this.#end !== undefined) return 0
    const { silenceMs } = this.#keeper
    const untilMs = this.seenMs + silenceMs * vouchedShare - this.#keeper.now()
    return Math.max(0, Math.min(this.#lease.remaining(), untilMs))
  }

  seen(): void {
    this.seenMs = this.#keeper.now()
  }

  async leave(): Promise<void> {
    this.finish('left')
    await this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave()
  }

  /** Asks the store at once whether its entry is still there. If not, the lease is lost. */
  check(ttl: number): void {
    this.#lease.renew({ ttl }).catch(() => undefined)
  }

  /** Ends it, unless it has ended. Its lease is released in any case: the store may still have it. */
  finish(end: SessionEnd, reason?: LossReason): void {
    if (this.#end !== undefined) return
    this.#end = end
    this.#released = this.#lease.release()
    this.#settle(end)
    this.#keeper.onEnd(this, end, reason)
  }
}
