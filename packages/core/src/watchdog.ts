import type { LossReason } from './errors.ts'

/**
 * Renews leases elsewhere, on behalf of holders that cannot: what the option `renew` takes. `@leasehold/cloudflare` has one.
 * Authors of others make it with `delegatedRenewal` of `@leasehold/core/adapter`.
 */
export interface Watchdog {
  /** The shortest ttl that it keeps renewed, in milliseconds. An acquire with a shorter one is refused by name. */
  readonly minTtlMs: number
  /** For core alone: makes what watches over one lease. */
  readonly watchFor: (context: never) => unknown
}

/**
 * The watchdog port: somebody else renews.
 *
 * The lease's token leaves the process with `adopt`. **Validity is pulled, loss is pushed:** the holder asks how long its lease
 * is still valid and counts that from *before* the question, so that no answer can be trusted too long, however late it comes.
 * Only a loss is pushed.
 *
 * The caller waits for none of these promises longer than a command deadline, but for `lost`. Each may reject; then the holder
 * adopts again. So every call has to be harmless when it is repeated, and when it comes late.
 */
export interface WatchdogPort {
  /** See `Watchdog`. */
  readonly minTtlMs: number
  /** Takes a lease over, or takes it over once more after a link was broken. */
  adopt(lease: DelegatedLease): Promise<WatchdogLink>
}

/** A lease as its watchdog gets it. It contains the token, which is a secret. */
export interface DelegatedLease {
  readonly key: string
  readonly token: string
  /** What each renewal asks for, in milliseconds. */
  readonly ttlMs: number
  /** How long the store keeps it without a renewal, as far as the holder knows, in milliseconds. */
  readonly expiresInMs: number
  /** How much of its `maxHold` is left, in milliseconds, if it has one. */
  readonly holdForMs?: number | undefined
}

/** A holder's connection to the watchdog. */
export interface WatchdogLink {
  /** Asks how long the lease is still valid. */
  remaining(): Promise<DelegatedValidity>
  /** Settles when the watchdog renews the lease no more: undefined after `end`. Rejects when the watchdog is gone. */
  readonly lost: Promise<LossReason | undefined>
  /** The lease has ended: the watchdog renews it no more. */
  end(): Promise<unknown>
}

/** What a watchdog knows of a lease. */
export interface DelegatedValidity {
  /**
   * How long the holder may trust it by the watchdog's own renewals, with their drift allowance taken off, in milliseconds; 0
   * before the first of them.
   */
  readonly validForMs: number
  /** Why the last renewal got no answer, if it got none. */
  readonly unanswered?: string | undefined
  /** Why it is lost, if it is. */
  readonly lost?: LossReason | undefined
}
