import { seededRandom } from '@leasehold/testkit'
import type {
  HeldPermitsRequest,
  LeaveRequest,
  LookRequest,
  QueuedAcquireRequest,
  QueueKind,
  ReleasePermitsRequest,
} from '../../../packages/core/src/store/queue.ts'

export type RandomRequest =
  | { readonly verb: 'acquire'; readonly request: QueuedAcquireRequest }
  | { readonly verb: 'look'; readonly request: LookRequest }
  | { readonly verb: 'leave'; readonly request: LeaveRequest }
  | { readonly verb: 'renew'; readonly request: HeldPermitsRequest }
  | { readonly verb: 'release'; readonly request: ReleasePermitsRequest }
  | { readonly verb: 'resize'; readonly kind: QueueKind }
  | { readonly verb: 'inspect' }
  | {
      readonly verb: 'plain acquire'
      readonly request: { key: string; acquisitionId: string; ttlMs: number; fences: 1 }
    }
  | { readonly verb: 'plain release'; readonly request: { key: string; token: string } }
  | { readonly verb: 'subscribers'; readonly inbox: string; readonly count: number }

const key = 'k'
const kinds: readonly QueueKind[] = [
  { name: 'exclusive', capacity: 1 },
  { name: 'semaphore', capacity: 4 },
  { name: 'read-write', capacity: 1_000_000 },
]

/**
 * Draws the requests of up to six processes with five waiters each, in any order: sensible, late, doubled or mistaken.
 */
export class RandomRequests {
  readonly inboxes: readonly string[]
  readonly #random: () => number
  readonly #kind: QueueKind
  readonly #unheard: ReadonlySet<string>
  /** A waiter wants the same in every try. */
  readonly #permits: Map<string, number> = new Map()
  readonly #lastIds: Map<string, string> = new Map()
  readonly #ids: string[] = []
  readonly #tokens: string[] = []

  constructor(seed: number) {
    this.#random = seededRandom(seed).random
    this.#kind = this.#pick(kinds)
    this.inboxes = Array.from({ length: 1 + this.#below(6) }, (_, at) => `${at}`.repeat(32))
    this.#unheard = new Set(this.inboxes.filter(() => this.#chance(0.2)))
  }

  /** Whether the inbox has a subscriber at first. */
  listens(inbox: string): boolean {
    return !this.#unheard.has(inbox)
  }

  /** How much time passes before the next request, in milliseconds. */
  pause(): number {
    return this.#pick([0, 1, 7, 50, 50, 200, 700, 2_000]) + (this.#chance(0.01) ? 15_000 : 0)
  }

  granted(token: string): void {
    this.#tokens.push(token)
  }

  next(): RandomRequest {
    const inbox = this.#pick(this.inboxes)
    const number = this.#below(5)
    const what = this.#random()
    if (what < 0.4) return { verb: 'acquire', request: this.#acquire(inbox, number) }
    if (what < 0.45) return { verb: 'acquire', request: this.#try() }
    if (what < 0.6) {
      const numbers = [0, 1, 2, 3, 4].filter(() => this.#chance(0.7))
      return { verb: 'look', request: { key, inbox, aliveMs: 12_000, numbers } }
    }
    if (what < 0.66) {
      const acquisitionId = this.#chance(0.7) ? this.#lastIds.get(`${inbox}.${number}`) : undefined
      return { verb: 'leave', request: { key, inbox, number, acquisitionId } }
    }
    if (what < 0.82) return { verb: 'release', request: this.#release() }
    if (what < 0.86) return { verb: 'renew', request: { key, token: this.#token(0.7), ttlMs: this.#ttlMs() } }
    if (what < 0.88) return { verb: 'resize', kind: this.#newKind() }
    if (what < 0.91) return { verb: 'subscribers', inbox, count: this.listens(inbox) ? this.#below(2) : 0 }
    if (what < 0.95) {
      return { verb: 'plain acquire', request: { key, acquisitionId: this.#newId(), ttlMs: this.#ttlMs(), fences: 1 } }
    }
    return what < 0.97 ? { verb: 'plain release', request: { key, token: this.#token(0.5) } } : { verb: 'inspect' }
  }

  #acquire(inbox: string, number: number): QueuedAcquireRequest {
    const name = `${inbox}.${number}`
    const permits = this.#permits.get(name) ?? this.#newPermits()
    this.#permits.set(name, permits)
    const acquisitionId = (this.#chance(0.7) && this.#lastIds.get(name)) || this.#newId()
    this.#lastIds.set(name, acquisitionId)
    this.#ids.push(acquisitionId)
    const other = this.#chance(0.03) ? this.#pick(kinds) : this.#kind
    return {
      key,
      kind: other.capacity < permits ? this.#kind : other,
      permits,
      acquisitionId,
      ttlMs: this.#ttlMs(),
      waiter: {
        inbox,
        number,
        priorityClass: this.#below(3),
        listens: this.listens(inbox),
        aliveMs: this.#pick([6_000, 12_000]),
        windowMs: 4_000,
      },
    }
  }

  /** Without a waiter. */
  #try(): QueuedAcquireRequest {
    const late = this.#chance(0.3) && this.#ids.length > 0
    const acquisitionId = late ? this.#pick(this.#ids) : this.#newId()
    return { key, kind: this.#kind, permits: 1, acquisitionId, ttlMs: this.#ttlMs(), waiter: undefined }
  }

  #release(): ReleasePermitsRequest {
    const isExclusive = this.#kind.name === 'exclusive'
    const exclusive = this.#chance(0.97) ? isExclusive : !isExclusive
    return { key, exclusive, token: this.#token(0.8), keep: !isExclusive && this.#chance(0.2) ? 1 : 0 }
  }

  #newKind(): QueueKind {
    if (this.#chance(0.1)) return this.#pick(kinds)
    return this.#kind.name === 'semaphore' ? { ...this.#kind, capacity: 1 + this.#below(6) } : this.#kind
  }

  #newPermits(): number {
    if (this.#kind.name === 'exclusive') return 1
    return this.#kind.name === 'semaphore' ? 1 + this.#below(3) : this.#pick([1, 1, 1_000_000])
  }

  /** The last token with probability `last`, otherwise any. */
  #token(last: number): string {
    if (this.#tokens.length === 0) return `${'f'.repeat(32)}.1`
    return this.#chance(last) ? (this.#tokens.at(-1) as string) : this.#pick(this.#tokens)
  }

  #newId(): string {
    const random = Array.from({ length: 32 }, () => this.#below(16).toString(16)).join('')
    return this.#chance(0.5) ? `someone.${random}` : random
  }

  #ttlMs(): number {
    return this.#pick([300, 1_000, 3_000, 10_000])
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T
  }
}
