import type { Executed, LeaseholdError } from '../errors.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'

/**
 * The store port: what a lease means to whatever keeps it.
 *
 * Each call takes one or more requests and answers one outcome per request, in order. An outcome is *yes* or *no*, both values, or
 * *unknown*: no answer came, so it may have happened. A store maps everything its client does to one of these. It rejects only
 * with an `InvalidOptionError`, before anything is sent.
 *
 * The caller may assume that a request is carried out at once or not at all, that time is the store's own, and that
 * every request may be repeated with the same acquisition id or token without doing harm. It may not assume that a call ever
 * settles: core waits no longer than `call` says, and says through it when it has stopped waiting.
 *
 * Implemented by `@leasehold/core/redis` and `@leasehold/core/memory`; a new one passes the suite of
 * `@leasehold/testkit`.
 */
export interface LeaseStore {
  /** How long one request may stay unanswered, in milliseconds. Core uses at most a third of the ttl. */
  readonly commandDeadlineMs: number
  /** The prefix of its keys, if it has one. `createLocker` refuses a notifier with another. */
  readonly prefix?: string | undefined
  /**
   * Names the node that keeps a key at present. Always the same name where there is only one. Requests for keys of different nodes
   * do not share a command, so that a silent node costs no other node's answer. Does no I/O.
   */
  nodeOf(key: string): string
  acquire(requests: readonly AcquireRequest[], call: CallDeadline): Promise<readonly AcquireOutcome[]>
  renew(requests: readonly RenewRequest[], call: CallDeadline): Promise<readonly RenewOutcome[]>
  release(requests: readonly ReleaseRequest[], call: CallDeadline): Promise<readonly ReleaseOutcome[]>
  /** Compares each lock with the cursor that a contended acquire returned. */
  checkHolders(requests: readonly CheckRequest[], call: CallDeadline): Promise<readonly CheckOutcome[]>
  inspect(key: string, call: CallDeadline): Promise<InspectOutcome>
  /** Takes the lock from the holder it sees, a foreign holder included, and never from a later one. */
  revoke(key: string, call: CallDeadline): Promise<RevokeOutcome>
}

export interface AcquireRequest {
  readonly key: string
  /** The part of the token before the fence: see `parseToken`. All retries of one acquisition keep it. */
  readonly acquisitionId: string
  readonly ttlMs: number
  /** How many consecutive fences to reserve for this grant, at least 1; the token carries the first. */
  readonly fences: number
}

export interface RenewRequest {
  readonly key: string
  readonly token: string
  /** The time to live asked for, from now. An entry with more time left keeps it. */
  readonly ttlMs: number
}

/** Gives a lease back by its token, or undoes an acquire of which only the acquisition id is known. */
export type ReleaseRequest = { readonly key: string } & (
  | { readonly token: string }
  | { readonly acquisitionId: string }
)

/** A question about one lock. */
export interface CheckRequest {
  readonly key: string
  /** What a contended acquire, or the last check, answered. `-` for none. */
  readonly cursor: string
}

/** No usable answer. `executed` is `'no'` if the request was certainly not carried out. */
export interface Unknown {
  readonly type: 'unknown'
  readonly executed: Executed
  readonly cause?: unknown
  /** How long the store asks clients to stay away, in milliseconds from when this came, if it says so. */
  readonly retryAfterMs?: number | undefined
}

/** The store will not carry out this request however often it is repeated. */
export interface Refused {
  readonly type: 'refused'
  /** Why. The caller gets a copy of it, with the key, what is known of other attempts, and its own stack. */
  readonly error: LeaseholdError
}

export type AcquireOutcome =
  /** Every store mints a fence: greater than that of any grant of this key before. */
  | { readonly type: 'granted'; readonly token: string; readonly fence: number }
  /**
   * `expiresInMs` is null for a holder without expiry. `cursor` is opaque: up to 128 visible ASCII characters, `-` for none.
   * `holder` is the name of the holding locker, null if it has none or is a foreign holder.
   */
  | {
      readonly type: 'held'
      readonly expiresInMs: number | null
      readonly cursor: string
      readonly holder: string | null
    }
  /** This acquisition's grant came and went already. Nothing is granted; ask again with a new acquisition id. */
  | { readonly type: 'spent' }
  | Unknown
  | Refused

export type RenewOutcome =
  | { readonly type: 'renewed' }
  | { readonly type: 'gone' }
  | { readonly type: 'superseded' }
  | Unknown
  | Refused

export type ReleaseOutcome =
  /**
   * It is free now, or has been since this same release was carried out before. `announced` is false when nobody could be
   * told (no permission). `subscribers` is how many were told, null when nobody knows: on a cluster, where each node
   * counts its own, zero is not known; nor is it for a repeat.
   */
  | { readonly type: 'released'; readonly announced: boolean; readonly subscribers: number | null }
  /** An operator took it away before. Known for certain, unlike `gone`. */
  | { readonly type: 'revoked' }
  /** `resent`: the client may have sent the request twice, so this may be the answer to the repeat. */
  | { readonly type: 'gone' | 'superseded'; readonly resent: boolean }
  | Unknown
  | Refused

/**
 * How giving a lease back ended.
 *
 * - `released`: the lock is free
 * - `expired`: the entry was no longer there
 * - `superseded`: another holder has the lock by now
 * - `unknown`: no answer came, or the store refused (the event `release-refused` says why); the ttl frees the lock
 */
export type ReleaseResult = 'released' | 'expired' | 'superseded' | 'unknown'

export type CheckOutcome =
  /** `changed`: the lock is free now. Otherwise the present holder's cursor and remaining time. */
  | {
      readonly type: 'checked'
      readonly changed: boolean
      readonly cursor: string
      readonly expiresInMs: number | null
    }
  | Unknown
  | Refused

/** Who has a lock now. Never the token. */
export type LockState =
  | { readonly held: false }
  | {
      readonly held: true
      /** The holding locker's name; null if it has none or is a foreign holder. */
      readonly holder: string | null
      /** Null for a foreign holder (another library's lock on the same key). */
      readonly fence: number | null
      /** When it was granted, by the store's clock; null for a foreign holder. */
      readonly since: Date | null
      /** Milliseconds until the store lets go, if nobody renews; null for a holder without expiry. */
      readonly expiresInMs: number | null
    }

export type InspectOutcome = { readonly type: 'state'; readonly state: LockState } | Unknown | Refused

export type RevokeOutcome = { readonly type: 'revoked' | 'free' } | Unknown | Refused
