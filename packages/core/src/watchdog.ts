import type { LossReason } from './errors.ts'

/**
 * A value for the option `renew`: renews leases elsewhere, on behalf of holders that cannot. `@leasehold/cloudflare`
 * has one. Authors of others make theirs with `delegatedRenewal` of `@leasehold/core/adapter`.
 */
export interface Watchdog {
  /** The shortest ttl that it can keep renewed, in milliseconds. An acquire with a shorter `ttl` is refused. */
  readonly minTtlMs: number
  /** For core only: makes what watches over one lease. */
  readonly watchFor: (context: never) => unknown
}

/**
 * The watchdog port: somebody else renews.
 *
 * `adopt` takes the lease's token out of the process. **Validity is pulled, loss is pushed:** the holder asks how long
 * its lease is still valid and counts from *before* the question, so that no answer is trusted too long, however late
 * it comes. Only a loss is pushed.
 *
 * The caller waits for each of these promises, except `lost`, no longer than a command deadline. Each may reject; then
 * the holder calls `adopt` again. So every call must be harmless when it is repeated and when it comes late.
 */
export interface WatchdogPort {
  /** See `Watchdog`. */
  readonly minTtlMs: number
  /** Takes a lease over, or takes it over again after its link broke. */
  adopt(lease: DelegatedLease): Promise<WatchdogLink>
}

/** A lease as passed to its watchdog. It contains the token, which is a secret. */
export interface DelegatedLease {
  readonly key: string
  readonly token: string
  /** The ttl that each renewal asks for, in milliseconds. */
  readonly ttlMs: number
  /** How long the store keeps the lease without a renewal, as far as the holder knows, in milliseconds. */
  readonly expiresInMs: number
  /** How much of its `maxHold` is left, in milliseconds, if it has one. */
  readonly holdForMs?: number | undefined
}

/** A holder's connection to the watchdog. */
export interface WatchdogLink {
  /** Asks how long the lease is still valid. */
  remaining(): Promise<DelegatedValidity>
  /** Resolves when the watchdog stops renewing: with undefined after `end`. Rejects when the watchdog is gone. */
  readonly lost: Promise<LossReason | undefined>
  /** The lease has ended: the watchdog is to stop renewing it. */
  end(): Promise<unknown>
}

/** What a watchdog knows of a lease. */
export interface DelegatedValidity {
  /**
   * How long the holder may trust the lease by the watchdog's own renewals, less their drift allowance, in
   * milliseconds; 0 before the first renewal.
   */
  readonly validForMs: number
  /** Why the last renewal got no answer, if it got none. */
  readonly unanswered?: string | undefined
  /** Why the lease is lost, if it is. */
  readonly lost?: LossReason | undefined
}
