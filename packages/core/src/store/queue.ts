import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Refused, ReleaseOutcome, RenewOutcome, Unknown } from './lease-store.ts'

/**
 * A further port, which a store may offer: waiters queue for a lock, and a lock may have several holders at once.
 *
 * A lock has a *capacity*, and each holder has a number of its *permits*. A lock for one holder has capacity 1. A read/write lock
 * is a semaphore with a large capacity, of which a reader takes one permit and a writer all.
 *
 * Nobody has a lease but by the answer to a request of their own. A release gives the waiter in front the *turn*, and tells its
 * inbox `turn <number>`. For a while, its window, only that waiter may take the lock among those who queue; it does so by repeating
 * its acquire. What does not fit is never skipped.
 *
 * As with `LeaseStore`, an outcome is *yes*, *no* or *unknown*, a request is carried out atomically or not at all, and it may be
 * repeated with the same acquisition id and the same waiter without harm. A call rejects only with an `InvalidOptionError`, before
 * anything is sent.
 */
export interface QueueStore {
  /** Takes the lock, or enters the waiter into the queue, unless it is in it. */
  acquire(request: QueuedAcquireRequest, call: CallDeadline): Promise<QueuedAcquireOutcome>
  /** What the safety timer of a process asks: one request for each contended key. Keeps its inbox alive, and moves the queue on. */
  look(requests: readonly LookRequest[], call: CallDeadline): Promise<readonly LookOutcome[]>
  /** Takes a waiter out of the queue, with its turn, or gives back the lock that it has taken meanwhile. */
  leave(request: LeaveRequest, call: CallDeadline): Promise<LeaveOutcome>
  /** Extends leases of locks for several holders. Those of capacity 1 are renewed as any other. */
  renew(requests: readonly HeldPermitsRequest[], call: CallDeadline): Promise<readonly RenewOutcome[]>
  /** Gives leases back, of any capacity, and gives the turn to who is next. */
  release(requests: readonly ReleasePermitsRequest[], call: CallDeadline): Promise<readonly ReleaseOutcome[]>
  /** Changes the capacity. Who holds more than is left keeps it; nobody else gets a permit until enough came back. */
  resize(key: string, kind: QueueKind, call: CallDeadline): Promise<ResizeOutcome>
  /** Shows holders and the first waiters; changes nothing. */
  inspect(key: string, call: CallDeadline): Promise<QueueInspection>
}

/**
 * What kind of lock a key is, as long as it is held or waited for. A request of another kind is refused with `KIND_MISMATCH`, and so
 * is another capacity.
 */
export interface QueueKind {
  /** `exclusive` is the kind of plain, fair and priority locks: their holder is the one that a plain acquire would see. */
  readonly name: 'exclusive' | 'semaphore' | 'read-write'
  /** 1 for `exclusive`. */
  readonly capacity: number
}

export interface QueuedAcquireRequest {
  readonly key: string
  readonly kind: QueueKind
  /** How many of the permits; at most the capacity. */
  readonly permits: number
  /** The part of the token before the fence. All retries of one acquisition keep it. */
  readonly acquisitionId: string
  readonly ttlMs: number
  /** Who waits. Without one nothing is entered, and only what nobody queues for is taken. */
  readonly waiter: QueuedWaiter | undefined
}

/** A waiter by its name, which it draws before its first try and keeps for the whole wait: `<inbox>.<number>`. */
export interface QueuedWaiter {
  /**
   * The inbox of its process: a random name of 32 hexadecimal digits. Where it listens, the store publishes `turn <number>` on it.
   * It dies if nothing is heard of it for `aliveMs`.
   */
  readonly inbox: string
  /** Unique within its inbox. */
  readonly number: number
  /** 0 is served first. A class is overtaken only by arrivals within two seconds times the difference. */
  readonly priorityClass: number
  /** Whether the inbox is subscribed to. One that is not, as over HTTP, is a name only, and its turn goes to the release channel. */
  readonly listens: boolean
  /** How long the inbox lives from this call, in milliseconds. */
  readonly aliveMs: number
  /** For how long it keeps a turn, in milliseconds. */
  readonly windowMs: number
}

export type QueuedAcquireOutcome =
  /** The token has the fence, as with a plain acquire. */
  | { readonly type: 'granted'; readonly token: string; readonly fence: number }
  /** It waits. `position` counts from 0. `againInMs`: when a look is worth it, at the latest; null if nothing is known to end. */
  | {
      readonly type: 'queued'
      readonly position: number
      readonly againInMs: number | null
      /** As in `AcquireOutcome`: of one of the holders, null if there is none, or it has no name. */
      readonly holder: string | null
    }
  /** Without a waiter: it is held, or others wait for it. */
  | { readonly type: 'held'; readonly expiresInMs: number | null; readonly holder: string | null }
  /** This acquisition's grant came and went already. Nothing is granted or entered; ask again with a new acquisition id. */
  | { readonly type: 'spent' }
  | Unknown
  | Refused

export interface LookRequest {
  readonly key: string
  readonly inbox: string
  readonly aliveMs: number
  /** The numbers of its first waiters, at most 100: of these it hears who is missing. */
  readonly numbers: readonly number[]
}

export type LookOutcome =
  | {
      readonly type: 'looked'
      /** Who of this inbox has the turn, by number; also numbers that were not asked about. */
      readonly turns: readonly number[]
      /** Who of `numbers` is not in the queue. */
      readonly missing: readonly number[]
      /** 0 if more is left to be dropped; null if nothing is known to end. */
      readonly againInMs: number | null
    }
  | Unknown
  | Refused

export interface LeaveRequest {
  readonly key: string
  readonly inbox: string
  readonly number: number
  /** Of its tries, to give back what they may have taken. None where only a turn that nobody wants is given back. */
  readonly acquisitionId: string | undefined
}

export type LeaveOutcome =
  /** It is out of the queue, or what it had taken is given back. */
  | { readonly type: 'left' }
  /** There was nothing. A try may still be under way: leave once more, later. */
  | { readonly type: 'absent' }
  | Unknown
  | Refused

export interface HeldPermitsRequest {
  readonly key: string
  readonly token: string
  readonly ttlMs: number
}

export interface ReleasePermitsRequest {
  readonly key: string
  /** Of which kind the lock is. Of an exclusive one the entry is the plain lock's. */
  readonly exclusive: boolean
  readonly token: string
  /** How many permits to keep under the same token: fewer than it has, and 0 to end the lease. */
  readonly keep: number
}

export type ResizeOutcome = { readonly type: 'resized' } | Unknown | Refused

export type QueueInspection =
  | {
      readonly type: 'state'
      /** Null if nobody holds it or waits for it. */
      readonly kind: QueueKind | null
      readonly holders: readonly QueueHolder[]
      /** The first 100, in order. */
      readonly waiters: readonly QueueWaiter[]
      /** How many wait, with those whose process may have died. */
      readonly waiting: number
    }
  | Unknown
  | Refused

/** Never a token. */
export interface QueueHolder {
  readonly holder: string | null
  /** Null for a foreign holder. */
  readonly fence: number | null
  readonly permits: number
  readonly expiresInMs: number | null
}

export interface QueueWaiter {
  readonly permits: number
  readonly hasTurn: boolean
}
