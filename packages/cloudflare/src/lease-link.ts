import { RpcTarget } from 'cloudflare:workers'
import type { LossReason } from '@leasehold/core'
import type { DelegatedValidity } from '@leasehold/core/adapter'

/** What a link needs of its object. */
export interface LinkedObject {
  remaining(link: LeaseLink): Promise<DelegatedValidity>
  /** The holder has ended its lease. */
  ended(link: LeaseLink): void
  /** The holder's request has ended, whether it ended its lease or not. */
  unlinked(link: LeaseLink): void
}

/**
 * A Worker's link to the object that renews its lease.
 *
 * The platform disposes it when the Worker's request returns, throws or is given up, and when what `waitUntil` was given has ended; but
 * not while a call of it is pending. A WebSocket would not tell: it stays open when its Worker ends.
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

/** How a Worker hears of the loss. Apart from the link, which a call that is pending would keep open. */
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

  /** The lease is renewed no more. Without a reason it is not lost, but ended. */
  static tell(news: LossNews, reason: LossReason | undefined): void {
    news.#reason ??= reason
    news.#settle?.(reason)
  }

  /** Pending while the lease is renewed. */
  lost(): Promise<LossReason | undefined> {
    return this.#lost
  }
}
