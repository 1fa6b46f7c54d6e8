import type { Executed, LeaseholdError } from '../errors.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'

/**
 * The store port: it keeps leases, and says what a lease means.
 *
 * Each call takes one or more requests and returns one outcome per request, in order. An outcome is *yes* or *no*,
 * which are both values, or *unknown*: the request was sent and no answer came, so it may have been carried out. A
 * store maps whatever its client does to one of these. It rejects only with an `InvalidOptionError`, before anything is
 * sent.
 *
 * The caller may assume that a request is carried out atomically or not at all, that time is the store's own, and that
 * every request may be repeated with the same acquisition id or token without harm. It may not assume that a call ever
 * settles: core waits no longer than `call` says, and `call` tells the store when core has stopped waiting.
 *
 * `@leasehold/core/redis` and `@leasehold/core/memory` implement it. A new store must pass the suite in
 * `@leasehold/testkit`.
 */
export interface LeaseStore {
  /** How long one request may stay unanswered, in milliseconds. Core never waits longer than a third of the ttl. */
  readonly commandDeadlineMs: number
  /** The prefix of its keys, if it has one. `createLocker` refuses a notifier with a different prefix. */
  readonly prefix?: string | undefined
  /**
   * Calls `send`, now or very soon, at a moment when what it sends leaves in a write of its own. A store has it if the
   * server carries out one command while the client reads the answer to another, as over one TCP connection. Many
   * requests of one turn then leave as two commands. Nothing else leaves until `send` is called, and what is not sent by
   * its deadline is given up. Default none.
   */
  readonly inNextWrite?: ((send: () => void) => void) | undefined
  /**
   * Returns the name of the node that currently keeps a key; always the same name if there is only one. Requests for
   * keys of different nodes do not share a command, so that a silent node does not cost another node's keys their
   * answer. Does no I/O.
   */
  nodeOf(key: string): string
  /**
   * Returns undefined if a request for this key would leave at once. If not, as while a client connects, returns a
   * promise. It resolves with undefined once a request would leave at once, or with the outcome of a request that was
   * not sent if none ever will leave, or if the call is over first. It is called often, so it must be fast.
   */
  whenReady(key: string, call: CallDeadline): Promise<Unknown | Refused | undefined> | undefined
  acquire(requests: readonly AcquireRequest[], call: CallDeadline): Promise<readonly AcquireOutcome[]>
  renew(requests: readonly RenewRequest[], call: CallDeadline): Promise<readonly RenewOutcome[]>
  release(requests: readonly ReleaseRequest[], call: CallDeadline): Promise<readonly ReleaseOutcome[]>
  /** Compares each lock with the cursor that a contended acquire returned. */
  checkHolders(requests: readonly CheckRequest[], call: CallDeadline): Promise<readonly CheckOutcome[]>
  inspect(key: string, call: CallDeadline): Promise<InspectOutcome>
  /** Takes the lock from its present holder, even a foreign one, and never from a successor. */
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
  /** The ttl to ask for, from now, in milliseconds. An entry with more time left keeps it. */
  readonly ttlMs: number
}

/** Gives a lease back by its token, or undoes an acquire by its acquisition id if nothing else is known. */
export type ReleaseRequest = { readonly key: string } & (
  | { readonly token: string }
  | { readonly acquisitionId: string }
)

/** A question about one lock. */
export interface CheckRequest {
  readonly key: string
  /** The cursor that a contended acquire or the last check returned; `-` for none. */
  readonly cursor: string
}

/** No usable answer. `executed` is `'no'` if the request was certainly not carried out. */
export interface Unknown {
  readonly type: 'unknown'
  readonly executed: Executed
  readonly cause?: unknown
  /** How long the store wants to be asked nothing, in milliseconds from when this outcome came, if it says so. */
  readonly retryAfterMs?: number | undefined
}

/** The store will not carry out this request however often it is repeated. */
export interface Refused {
  readonly type: 'refused'
  /** The reason. The caller gets a copy with the key, what is known of other attempts, and the caller's own stack. */
  readonly error: LeaseholdError
}

export type AcquireOutcome =
  /** Every store mints a fence that is higher than that of any earlier grant of this key. */
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
   * The lock is free now, or an earlier attempt of this same release has freed it. `announced` is false if the release
   * could not be announced (no permission). `subscribers` is how many subscribers were notified, null if that is not
   * known: for a repeat, and for zero on a cluster, where each node counts only its own.
   */
  | { readonly type: 'released'; readonly announced: boolean; readonly subscribers: number | null }
  /** An operator revoked the lease earlier. Unlike with `gone`, the store knows that for certain. */
  | { readonly type: 'revoked' }
  /** `resent`: the client may have sent the request twice, so this may be the answer to the repeat. */
  | { readonly type: 'gone' | 'superseded'; readonly resent: boolean }
  | Unknown
  | Refused

/**
 * How a release ended.
 *
 * - `released`: the lock is free
 * - `expired`: the store no longer had the entry
 * - `superseded`: another holder has the lock by now
 * - `unknown`: no answer came, or the store refused (the event `release-refused` says why); the ttl frees the lock
 * - `detached`: nothing was given back: the lease was detached earlier, and the lock belongs to whoever resumes it
 */
export type ReleaseResult = 'released' | 'expired' | 'superseded' | 'unknown' | 'detached'

export type CheckOutcome =
  /** `changed`: the lock is free now. If it is not, `cursor` and `expiresInMs` are those of the present holder. */
  | {
      readonly type: 'checked'
      readonly changed: boolean
      readonly cursor: string
      readonly expiresInMs: number | null
    }
  | Unknown
  | Refused

/** Who holds a lock now. It never contains the token. */
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
      /** Time until the expiry unless the lease is renewed, in milliseconds; null for a holder without expiry. */
      readonly expiresInMs: number | null
    }

export type InspectOutcome = { readonly type: 'state'; readonly state: LockState } | Unknown | Refused

export type RevokeOutcome = { readonly type: 'revoked' | 'free' } | Unknown | Refused
