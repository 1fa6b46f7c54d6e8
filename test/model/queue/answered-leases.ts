import { acquisitionIdOf } from '../../../packages/core/src/store/token.ts'
import type { Asked } from './trace.ts'

/**
 * The leases that a store's answers amount to, by its own time. The store's tables are not asked: a lock for one holder
 * has one entry there, whoever else was told that they have it.
 */
export class AnsweredLeases {
  /** By acquisition id. */
  readonly #leases: Map<string, { permits: number; untilMs: number }> = new Map()

  heed({ verb, request, reply }: Asked, nowMs: number): void {
    // What has ended stays so when the clock is set back.
    for (const [id, { untilMs }] of this.#leases) if (untilMs <= nowMs) this.#leases.delete(id)
    if (reply.type === 'granted' && 'acquisitionId' in request && 'ttlMs' in request) {
      const permits = 'permits' in request ? request.permits : 1
      this.#extend(acquisitionIdOf(reply.token), permits, nowMs + request.ttlMs)
    } else if (reply.type === 'renewed' && 'token' in request && 'ttlMs' in request) {
      this.#extend(acquisitionIdOf(request.token), 0, nowMs + request.ttlMs)
    } else if (reply.type === 'released' || (verb === 'leave' && reply.type === 'left')) {
      const id =
        'token' in request ? acquisitionIdOf(request.token) : 'acquisitionId' in request && request.acquisitionId
      if (id) this.#leases.delete(id)
    }
  }

  /** How many permits are held. */
  held(nowMs: number): number {
    let held = 0
    for (const { permits, untilMs } of this.#leases.values()) if (untilMs > nowMs) held += permits
    return held
  }

  #extend(id: string, permits: number, untilMs: number): void {
    const before = this.#leases.get(id)
    this.#leases.set(id, { permits: before?.permits ?? permits, untilMs: Math.max(before?.untilMs ?? 0, untilMs) })
  }
}
