import { type Clock, type Duration, InvalidOptionError, parseDuration, systemClock } from '@leasehold/core'
import { keyLayout, type LeaseStore } from '@leasehold/core/adapter'
import type { RedisSubscriber } from '@leasehold/core/redis'
import type { Complete } from '../http/complete.ts'
import { checkSecret, checkTokens } from '../http/secrets.ts'
import { longestHeartbeatMs } from '../http/sse-body.ts'
import { wholeNumber } from '../http/whole-number.ts'
import type { OnBridgeEvent } from './bridge-events.ts'
import type { MetricsPage } from './metrics-route.ts'
import { defaultLongestTicket } from './tickets.ts'

export interface BridgeOptions {
  /** Where the locks are, with the same prefix as the bridge. */
  readonly store: Pick<LeaseStore, 'checkHolders' | 'nodeOf'>
  /** How the bridge hears of releases. Opens one connection. */
  readonly subscriber: RedisSubscriber
  /** The store's prefix; default `lock:`. Clients name keys without it. */
  readonly prefix?: string | undefined
  readonly auth: BridgeAuth
  readonly limits?: BridgeLimits | undefined
  /** Origins, such as `https://app.example`, whose pages may send requests from a browser; default none. */
  readonly cors?: { readonly origins: readonly string[] } | undefined
  /** The longest silence of an event stream, in milliseconds; default 10,000, at most 15,000. */
  readonly heartbeatMs?: number | undefined
  /** The page that `/metrics` serves, and the token it requires. If omitted, there is no such page. */
  readonly metrics?: BridgeMetricsPage | undefined
  /** Stops the bridge for good: waiters are told to come back, streams end, and new requests are refused. */
  readonly signal?: AbortSignal | undefined
  /** Default: the runtime's. */
  readonly clock?: Clock | undefined
  /** Called with each event, for logs and metrics. */
  readonly onEvent?: OnBridgeEvent | undefined
}

export interface BridgeMetricsPage {
  /** Makes the page. A page is served for ten times as long as it took to make, but for at most a second. */
  readonly page: () => Promise<MetricsPage>
  /** The bearer token for the page, of 32 characters or more. It must not be one of the tokens in `auth`. */
  readonly token: string
}

/** At least one token or secret. With several, you can replace one while both are valid. */
export interface BridgeAuth {
  /**
   * Anyone with one of these may wait for every key. Each has 32 random characters or more, such as 32 bytes in hex.
   */
  readonly tokens?: readonly string[] | undefined
  /** Tickets signed with one of these are let in: see `issueTicket`. */
  readonly ticketSecrets?: readonly string[] | undefined
  /**
   * Tickets that expire later than this from now are refused, so a ticket signed with a leaked secret soon becomes
   * useless; default `'24h'`. The clocks of the issuer and of the bridge may differ by five minutes.
   */
  readonly longestTicket?: Duration | undefined
}

/**
 * Requests beyond these are refused with 429. Everyone with the same token, or with tickets of the same subject, is one
 * client, so many processes may be one client.
 */
export interface BridgeLimits {
  /** How many waits and streams of one client may be open at a time; default 1,000. */
  readonly perClient?: number | undefined
  /** How many waits and streams of all clients may be open at a time; default 10,000. */
  readonly total?: number | undefined
  /**
   * How many waits and streams of one client for the same key may be open at a time; default: as many as `perClient`.
   */
  readonly perKey?: number | undefined
  /**
   * About how many keys one client may ask about per second; default 2,000. A stream asks about each of its keys.
   * Unused allowance accumulates for up to 2.5 s, so that all waiters may come back at once after a restart: 5,000 keys
   * by default.
   */
  readonly keysPerSecond?: number | undefined
}

export interface CheckedOptions extends Complete<Omit<BridgeOptions, 'cors' | 'metrics' | 'signal'>> {
  readonly auth: CheckedAuth
  readonly limits: Complete<BridgeLimits>
  readonly origins: readonly string[]
  readonly metrics: BridgeOptions['metrics']
  readonly signal: AbortSignal
}

export interface CheckedAuth {
  readonly tokens: readonly string[]
  readonly ticketSecrets: readonly string[]
  readonly longestTicketMs: number
}

/** @throws InvalidOptionError naming the option, never containing a secret. */
export function checkOptions(options: BridgeOptions): CheckedOptions {
  const { store, subscriber, auth, limits, clock = systemClock, onEvent = () => undefined } = options
  if (typeof store?.checkHolders !== 'function' || typeof store.nodeOf !== 'function') {
    throw new InvalidOptionError('store', 'must be a store of @leasehold')
  }
  if (typeof subscriber?.connect !== 'function') throw new InvalidOptionError('subscriber', 'must be a RedisSubscriber')
  const perClient = wholeNumber('limits.perClient', limits?.perClient, 1_000)
  return {
    store,
    subscriber,
    prefix: keyLayout(options.prefix).prefix,
    auth: checkedAuth(auth),
    limits: {
      perClient,
      total: wholeNumber('limits.total', limits?.total, 10_000),
      perKey: wholeNumber('limits.perKey', limits?.perKey, perClient),
      keysPerSecond: wholeNumber('limits.keysPerSecond', limits?.keysPerSecond, 2_000),
    },
    origins: checkedOrigins(options.cors?.origins ?? []),
    heartbeatMs: wholeNumber('heartbeatMs', options.heartbeatMs, 10_000, 1, longestHeartbeatMs),
    metrics: checkedMetrics(options.metrics, auth?.tokens),
    signal: options.signal ?? new AbortController().signal,
    clock,
    onEvent,
  }
}

function checkedAuth({ tokens = [], ticketSecrets = [], longestTicket }: BridgeAuth = {}): CheckedAuth {
  if (tokens.length + ticketSecrets.length === 0) {
    throw new InvalidOptionError('auth', 'must have at least one of tokens and ticketSecrets')
  }
  checkTokens('auth.tokens', tokens)
  for (const secret of ticketSecrets) checkSecret('auth.ticketSecrets', secret)
  return {
    tokens,
    ticketSecrets,
    longestTicketMs: parseDuration('auth.longestTicket', longestTicket ?? defaultLongestTicket),
  }
}

function checkedMetrics(
  metrics: BridgeMetricsPage | undefined,
  tokens: readonly string[] = [],
): BridgeMetricsPage | undefined {
  if (!metrics) return undefined
  if (typeof metrics.page !== 'function') throw new InvalidOptionError('metrics.page', 'must be a function')
  checkTokens('metrics.token', [metrics.token])
  if (tokens.includes(metrics.token)) {
    throw new InvalidOptionError(
      'metrics.token',
      'must be none of auth.tokens: whoever collects numbers may not wait for keys',
    )
  }
  return metrics
}

function checkedOrigins(origins: readonly string[]): readonly string[] {
  for (const origin of origins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new InvalidOptionError('cors.origins', 'must be origins such as "https://app.example", without a path')
    }
  }
  return origins
}
