import { type Clock, systemClock } from '@leasehold/core'
import {
  clockWithin,
  defaultPrefix,
  demandOption,
  homeContext,
  notifiedWaiter,
  offerPlaces,
  type ReleaseNotifier,
  type Subscription,
  sharesBetweenCalls,
} from '@leasehold/core/adapter'
import { sse } from '#sse'
import { type BridgeEndpoint, checkEndpoint } from './bridge-endpoint.ts'
import { bridgeReach } from './bridge-reach.ts'
import type { Channel, OpenChannel } from './channel.ts'
import type { EventStreams } from './event-streams.ts'
import { longPoll } from './long-poll.ts'
import { troubles } from './troubles.ts'

export interface BridgeNotifierOptions extends BridgeEndpoint {
  /**
   * `sse` is one event stream for all keys of the process. It is the default where calls may share it.
   *
   * `long-poll` is one waiting request for each acquire, at most three at a time. It is for networks that buffer
   * streams. It is also the default on Workers, where each acquire needs its own connection: a release answers only one
   * of the polls that wait for the lock, but wakes every stream.
   *
   * To use streams on Workers anyway, pass `eventStreams` of `@leasehold/bridge-client/event-streams` in place of
   * `sse`, which does the same elsewhere. This way a Worker that polls does not ship them.
   */
  readonly mode?: 'sse' | 'long-poll' | EventStreams | undefined
  /** Default: the runtime's. */
  readonly clock?: Clock | undefined
}

/**
 * How long a waiter relies on the bridge, in milliseconds. Long, because the bridge watches the holder itself: only its
 * mistakes cost this much.
 */
const recheckMs = 30_000
/**
 * The same for a waiter in a queue whose place the bridge keeps. Longer, because each answer to a poll says that the
 * place is kept, and a mistake of the bridge costs a place.
 */
const keptRecheckMs = 120_000

/**
 * Release notifications through a bridge, over `fetch` alone.
 *
 * A release wakes a waiter within a round trip, and a contended acquire costs two store commands. While the bridge is
 * unreachable, waiters check on their own as often as their `strategy` says. That costs commands and time, but nobody
 * hangs. Where calls share nothing (Workers), each acquire has its own connection. The notifier sends nothing until
 * somebody waits.
 *
 * @example
 * ```ts
 * const locks = createLocker({
 *   store: fetchStore({ url: env.REDIS_URL, token: env.REDIS_TOKEN }),
 *   notifier: bridgeNotifier({ url: env.BRIDGE_URL, token: env.BRIDGE_TOKEN }),
 * })
 * ```
 *
 * @throws InvalidOptionError for a bad `url`, `token` or `mode`
 */
export function bridgeNotifier(options: BridgeNotifierOptions): ReleaseNotifier {
  demandOption(Object(options) === options, 'options', 'an object')
  const { mode = sharesBetweenCalls() ? 'sse' : 'long-poll', prefix = defaultPrefix, clock = systemClock } = options
  const polls = mode === 'long-poll'
  const streams = polls ? undefined : mode === 'sse' ? sse : mode
  demandOption(polls || !!streams?.open, 'mode', '"long-poll", "sse" or, on Workers, eventStreams')
  checkEndpoint(options)
  // The timers start what calls share, so they belong to no call.
  const told = troubles(options.onError)
  const reach = bridgeReach(options, prefix, clockWithin(clock, homeContext()), told)
  const open = streams?.open ?? longPoll
  /** The channels that calls share. */
  const channels = new Set<Channel>()
  const subscribe = (via: OpenChannel, key: string, cursor: string, more: string): Subscription => {
    const shares = sharesBetweenCalls()
    // A poll serves only one subscriber, so only a stream is shared.
    const known = shares && via === open && [...channels].find((candidate) => candidate.takes?.(key))
    const channel = known || via(reach, shares, () => channels.delete(channel))
    if (shares) channels.add(channel)
    return channel.subscribe(key, cursor, more)
  }
  const notifier: ReleaseNotifier = {
    checks: true,
    recheckMs,
    prefix,
    subscribe: (key, cursor, forResult) => subscribe(open, key, cursor, forResult ? '&mode=result' : ''),
    waiter(waitClock, plan) {
      return notifiedWaiter(this, waitClock, plan)
    },
    onStateChange: told.onStateChange,
    async close() {
      reach.closed = true
      for (const channel of channels) channel.close()
    },
  }
  streams?.offerTurns(notifier, reach)
  return offerPlaces(notifier, {
    ...notifier,
    recheckMs: keptRecheckMs,
    subscribe: (key, waiter) => subscribe(longPoll, key, '-', `&waiter=${waiter}`),
  })
}
