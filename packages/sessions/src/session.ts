import type { Lease, LossReason } from '@leasehold/core'
import type { TakeOver } from '@leasehold/core/presence'
import type { Entrant } from './displaced.ts'
import { vouchedShare } from './figures.ts'

/** How a session ended: see {@link SessionEvent}. */
export type SessionEnd = 'left' | 'silent' | 'taken-over' | 'lost'

/**
 * A session of this server: one connection of a user, in one role of one resource. It has an entry of its own. Whatever
 * comes late from an earlier connection of the same user, such as the end of its socket, affects that connection's
 * session and not this one.
 */
export interface Session extends AsyncDisposable {
  readonly resource: string
  readonly role: string
  readonly sessionId: string
  readonly userId: string
  /** Grows with each session of the resource. Pass it to what the role guards, and have it refuse a lower one. */
  readonly fence: number
  /** How the session ended; undefined while it lasts. */
  readonly end: SessionEnd | undefined
  /** Resolves when the session ends, and never rejects. */
  readonly ended: Promise<SessionEnd>
  /** Whether the session can be trusted now, even if timers are late. Check before each action that the role allows. */
  readonly isValid: boolean
  /**
   * For how long the session can be trusted if nothing more is heard, from its client or from the store, in
   * milliseconds; 0 if it cannot. Send it to the client with the answer to a sign of life. A client that counts it from
   * when *it sent* that sign stops trusting its session before the role is free for others. A forced take-over does not
   * wait for that: notify the client.
   */
  remaining(): number
  /**
   * Records a sign of life from the client. Call it for each message, unless you gave the session its socket. Nothing
   * else keeps a session alive: once its client has been silent for `silence`, the session ends, however healthy this
   * server is.
   */
  seen(): void
  /**
   * Ends the session, and gives its role back. Once the promise has resolved, nobody sees the session any more. It
   * never rejects; a session that has ended stays as it is.
   */
  leave(): Promise<void>
}

/** What a session needs from the registry that keeps it. */
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
  /** When the client was last heard from, in milliseconds of the monotonic clock. */
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

  /** From now on, the session ends when its lease is lost, which may have happened already. */
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

  /** Asks the store at once, by a renewal, whether its entry is still there. If not, the lease is lost. */
  check(ttl: number): void {
    this.#lease.renew({ ttl }).catch(() => undefined)
  }

  /** Ends the session, unless it has ended. Its lease is released however it ends: the store may still have it. */
  finish(end: SessionEnd, reason?: LossReason): void {
    if (this.#end !== undefined) return
    this.#end = end
    this.#released = this.#lease.release()
    this.#settle(end)
    this.#keeper.onEnd(this, end, reason)
  }
}
