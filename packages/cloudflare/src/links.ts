import type { LossReason } from '@leasehold/core'
import { LeaseLink, LossNews } from './lease-link.ts'

/** The open links. They end with the process, and are the only state that is not in the storage. */
export class Links {
  readonly #open: Map<string, Set<LeaseLink>> = new Map()

  add(link: LeaseLink): void {
    const token = LeaseLink.tokenOf(link)
    const links = this.#open.get(token) ?? new Set()
    links.add(link)
    this.#open.set(token, links)
  }

  /** Returns whether it was the last link to its lease: a holder may have linked twice, after a lost answer. */
  remove(link: LeaseLink): boolean {
    const token = LeaseLink.tokenOf(link)
    LossNews.tell(LeaseLink.newsOf(link), undefined)
    const links = this.#open.get(token)
    if (!links?.delete(link) || links.size > 0) return false
    return this.#open.delete(token)
  }

  /** The lease is no longer renewed. Its links report that from now on. */
  tell(token: string, reason: LossReason | undefined): void {
    for (const link of this.#open.get(token) ?? []) LossNews.tell(LeaseLink.newsOf(link), reason)
    this.#open.delete(token)
  }
}
