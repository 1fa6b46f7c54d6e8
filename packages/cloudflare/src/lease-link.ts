import { RpcTarget } from 'cloudflare:workers'
import type { LossReason } from '@leasehold/core'
import type { DelegatedValidity } from '@leasehold/core/adapter'

/** What a link needs from its object. */
export interface LinkedObject {
  remaining(link: LeaseLink): Promise<DelegatedValidity>
  /** The holder has ended its lease. */
  ended(link: LeaseLink): void
  /** The holder's request has ended, whether or not it ended its lease. */
  unlinked(link: LeaseLink): void
}

/**
 * A Worker's link to the object that renews its lease.
 *
 * The platform disposes it when the Worker's request returns, throws or is given up, and everything given to
 * `waitUntil` has ended; but not while a call on it is pending. A WebSocket would not show that: it stays open when its
 * Worker ends.
 */
export class LeaseLink extends RpcTarget {
  readonly #object: LinkedObject
  readonly #token: string
  readonly #news: LossNews

  constructor(object: LinkedObject, token: string, news: LossNews) {
    super()
    this.#object = object
    this.#token = token
    this.#news = news
  }

  // Static, because a Worker can call every other method and read every other property.

  static tokenOf(link: LeaseLink): string {
    return link.#token
  }

  static newsOf(link: LeaseLink): LossNews {
    return link.#news
  }

  remaining(): Promise<DelegatedValidity> {
    return this.#object.remaining(this)
  }

  async end(): Promise<void> {
    this.#object.ended(this)
  }

  [Symbol.dispose](): void {
    this.#object.unlinked(this)
  }
}

/** How a Worker learns of the loss. It is separate from the link, because a pending call would keep the link open. */
export class LossNews extends RpcTarget {
  readonly #lost: Promise<LossReason | undefined>
  #settle: ((reason: LossReason | undefined) => void) | undefined
  #reason: LossReason | undefined

  constructor() {
    super()
    this.#lost = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** Why the lease is lost, if it is. */
  static reasonOf(news: LossNews): LossReason | undefined {
    return news.#reason
  }

  /** The lease is no longer renewed. Without a reason it was not lost, but ended. */
  static tell(news: LossNews, reason: LossReason | undefined): void {
    news.#reason ??= reason
    news.#settle?.(reason)
  }

  /** Pending while the lease is renewed. */
  lost(): Promise<LossReason | undefined> {
    return this.#lost
  }
}
