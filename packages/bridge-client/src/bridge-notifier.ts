import { type Clock, notifiedWaiter, type ReleaseNotifier, systemClock } from '@leasehold/core'
import { clockWithin, demandOption, homeContext, sharesBetweenCalls } from '@leasehold/core/adapter'
import { type BridgeEndpoint, checkEndpoint } from './bridge-endpoint.ts'
import { bridgeReach } from './bridge-reach.ts'
import type { Channel } from './channel.ts'
import { eventStream } from './event-stream.ts'
import { longPoll } from './long-poll.ts'
import { troubles } from './troubles.ts'

export interface BridgeNotifierOptions extends BridgeEndpoint {
  /**
   * `sse`: one event stream for all keys of the process, the default. `long-poll`: one waiting request per acquire, at most
   * three at a time; for networks that do not let a stream through, and the default where calls share nothing (Workers),
   * since a release answers one poll and tells every stream.
   */
  readonly mode?: 'sse' | 'long-poll'
  /** Default: the runtime's. */
  readonly clock?: Clock
}

/** How long a waiter relies on it. Long, since the bridge watches the holder itself: only its mistakes cost so much. */
const recheckMs = 30_000

/**
 * Release notifications through a bridge, with nothing but `fetch`: `docs/bridge-protocol.md`. Keys are named without
 * the store's prefix, which must be the bridge's.
 *
 * A release wakes a waiter within a round trip, at two store commands per contended acquire. While the bridge cannot be
 * reached, waiters check by themselves as often as their `strategy` says: that costs commands and time, never a hang.
 * Where calls share nothing (Workers) each acquire has a connection of its own. Does no I/O before the first subscription.
 *
 * @throws InvalidOptionError for a bad `url`, `token` or `mode`
 */
export function bridgeNotifier(options: BridgeNotifierOptions): ReleaseNotifier {
  const { mode = sharesBetweenCalls() ? 'sse' : 'long-poll', prefix = 'lock:', clock = systemClock } = options
  demandOption(mode === 'sse' || mode === 'long-poll', 'mode', '"sse" or "long-poll"')
  checkEndpoint(options)
  // What calls share is begun by a timer, and belongs to none of them.
  const told = troubles(options.onError)
  const reach = bridgeReach(options, prefix, clockWithin(clock, homeContext()), told)
  const open = mode === 'sse' ? eventStream : longPoll
  /** Those that calls share. */
  const channels = new Set<Channel>()
  return {
    checks: true,
    recheckMs,
    prefix,
    subscribe(key, cursor) {
      const shares = sharesBetweenCalls()
      const known = shares && [...channels].find((candidate) => candidate.takes?.(key))
      const channel = known || open(reach, shares, () => channels.delete(channel))
      if (shares) channels.add(channel)
      return channel.subscribe(key, cursor)
    },
    waiter(waitClock, plan) {
      return notifiedWaiter(this, waitClock, plan)
    },
    onStateChange: told.onStateChange,
    async close() {
      reach.closed = true
      for (const channel of channels) channel.close()
    },
  }
}
