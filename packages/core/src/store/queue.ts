import type { CallDeadline } from '../timing/call-deadline.ts'
import type { Refused, ReleaseOutcome, RenewOutcome, Unknown } from './lease-store.ts'

/**
 * An optional port of a store: waiters queue for a lock, and a lock may have several holders at once.
 *
 * A lock has a *capacity*, and each holder has some of its *permits*. A lock for one holder has capacity 1. A
 * read/write lock is a semaphore with a large capacity: a reader takes one permit, a writer all of them.
 *
 * Nobody gets a lease except by the answer to a request of their own. A release gives the first waiter the *turn*, and
 * sends `turn <number>` to its inbox. For a while, its window, only that waiter may take the lock among those who
 * queue; it does so by repeating its acquire. A waiter whose permits do not fit is never skipped.
 *
 * As with `LeaseStore`, an outcome is *yes*, *no* or *unknown*, a request is carried out atomically or not at all, and it may be
 * repeated with the same acquisition id and the same waiter without harm. A call rejects only with an `InvalidOptionError`, before
 * anything is sent.
 */
export interface QueueStore {
  /** Takes the lock, or enters the waiter into the queue unless it is already there. */
  acquire(request: QueuedAcquireRequest, call: CallDeadline): Promise<QueuedAcquireOutcome>
  /** Sent by a process's safety timer, one request per contended key. Keeps its inbox alive and moves the queue on. */
  look(requests: readonly LookRequest[], call: CallDeadline): Promise<readonly LookOutcome[]>
  /** Takes a waiter out of the queue, with its turn, or gives back the lock that it has taken meanwhile. */
  leave(request: LeaveRequest, call: CallDeadline): Promise<LeaveOutcome>
  /** Extends leases of locks for several holders. Locks of capacity 1 are renewed like any other. */
  renew(requests: readonly HeldPermitsRequest[], call: CallDeadline): Promise<readonly RenewOutcome[]>
  /** Gives leases back, for locks of any capacity, and gives the turn to the next waiter. */
  release(requests: readonly ReleasePermitsRequest[], call: CallDeadline): Promise<readonly ReleaseOutcome[]>
  /** Changes the capacity. Holders keep permits above it, and nobody else gets one until enough have come back. */
  resize(key: string, kind: QueueKind, call: CallDeadline): Promise<ResizeOutcome>
  /** Returns the holders and the first waiters; changes nothing. */
  inspect(key: string, call: CallDeadline): Promise<QueueInspection>
}

/**
 * The kind of lock that a key is, as long as it is held or waited for. A request of another kind or capacity is refused
 * with `KIND_MISMATCH`.
 */
export interface QueueKind {
  /** `exclusive` is the kind of plain, fair and priority locks: their holder is the one that a plain acquire sees. */
  readonly name: 'exclusive' | 'semaphore' | 'read-write'
  /** 1 for `exclusive`. */
  readonly capacity: number
}

export interface QueuedAcquireRequest {
  readonly key: string
  readonly kind: QueueKind
  /** How many permits to take; at most the capacity. */
  readonly permits: number
  /** The part of the token before the fence. All retries of one acquisition keep it. */
  readonly acquisitionId: string
  readonly ttlMs: number
  /** Who waits. Without a waiter nothing enters the queue, and the lock is taken only if nobody queues for it. */
  readonly waiter: QueuedWaiter | undefined
}

/** A waiter by its name, `<inbox>.<number>`, which it draws before its first try and keeps for the whole wait. */
export interface QueuedWaiter {
  /**
   * The inbox of its process: a random name of 32 hexadecimal digits. If it listens, the store publishes
   * `turn <number>` on it. It dies if nothing is heard of it for `aliveMs`.
   */
  readonly inbox: string
  /** Unique within its inbox. */
  readonly number: number
  /** 0 is served first. A better class overtakes only if it arrives within 2 s times the difference in class. */
  readonly priorityClass: number
  /** Whether the inbox is subscribed to. If not, as over HTTP, it is only a name: turns go to the release channel. */
  readonly listens: boolean
  /** How long the inbox lives from this call, in milliseconds. */
  readonly aliveMs: number
  /** How long the waiter keeps a turn, in milliseconds. */
  readonly windowMs: number
}

export type QueuedAcquireOutcome =
  /** The token has the fence, as with a plain acquire. */
  | { readonly type: 'granted'; readonly token: string; readonly fence: number }
  /** It waits. `position` counts from 0. `againInMs`: when to look at the latest; null if nothing is known to end. */
  | {
      readonly type: 'queued'
      readonly position: number
      readonly againInMs: number | null
      /** As in `AcquireOutcome`: the name of one of the holders; null if there is none, or it has no name. */
      readonly holder: string | null
    }
  /** Without a waiter: the lock is held, or others wait for it. */
  | { readonly type: 'held'; readonly expiresInMs: number | null; readonly holder: string | null }
  /** This acquisition's grant came and went already. Nothing is granted or entered; ask again with a new acquisition id. */
  | { readonly type: 'spent' }
  | Unknown
  | Refused

export interface LookRequest {
  readonly key: string
  readonly inbox: string
  readonly aliveMs: number
  /** The numbers of its first waiters, at most 100. The outcome says which of these are missing. */
  readonly numbers: readonly number[]
}

export type LookOutcome =
  | {
      readonly type: 'looked'
      /** The numbers of this inbox's waiters that have the turn; may include numbers that were not asked about. */
      readonly turns: readonly number[]
      /** Those of `numbers` that are not in the queue. */
      readonly missing: readonly number[]
      /** When to look again at the latest; 0 if more entries are left to drop; null if nothing is known to end. */
      readonly againInMs: number | null
    }
  | Unknown
  | Refused

export interface LeaveRequest {
  readonly key: string
  readonly inbox: string
  readonly number: number
  /** That of its tries, to give back what they may have taken. Undefined to give back only a turn that nobody wants. */
  readonly acquisitionId: string | undefined
}

export type LeaveOutcome =
  /** The waiter is out of the queue, or what it had taken is given back. */
  | { readonly type: 'left' }
  /** There was nothing. A try may still be in flight: leave again, later. */
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
  /** Whether the lock is of the kind `exclusive`, whose entry is that of a plain lock. */
  readonly exclusive: boolean
  readonly token: string
  /** How many permits to keep under the same token: fewer than it has, or 0 to end the lease. */
  readonly keep: number
}

export type ResizeOutcome = { readonly type: 'resized' } | Unknown | Refused

export type QueueInspection =
  | {
      readonly type: 'state'
      /** Null if nobody holds it or waits for it. */
      readonly kind: QueueKind | null
      /** How many permits are held, by all holders. */
      readonly held: number
      /** At most 1,000: those whose leases end first. */
      readonly holders: readonly QueueHolder[]
      /** The first 100, in order. */
      readonly waiters: readonly QueueWaiter[]
      /** How many wait, including those whose process may have died. */
      readonly waiting: number
    }
  | Unknown
  | Refused

/** A holder. It never contains the token. */
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
