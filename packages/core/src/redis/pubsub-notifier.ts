import { homeContext, sharesBetweenCalls } from '#sharing'
import { demandObject, demandOption, refuseUnknown } from '../errors.ts'
import { type Clock, systemClock } from '../timing/clock.ts'
import { offerInbox } from '../waiting/inbox.ts'
import { notifiedWaiter } from '../waiting/notified-waiter.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import { inboxChannel, keyLayout, releasePattern } from './keys.ts'
import { NotifierTroubles } from './notifier-troubles.ts'
import type { RedisSubscriber } from './redis-subscriber.ts'
import { ReleaseChannels } from './release-channels.ts'

export interface PubsubNotifierOptions {
  /** The store's prefix; default `lock:`. */
  readonly prefix?: string | undefined
  /**
   * `channels` (default) subscribes to the channel of each key that is waited for. `pattern` subscribes once, to all
   * releases under the prefix, which suits a process that waits for very many keys.
   */
  readonly mode?: 'channels' | 'pattern' | undefined
  /** Where time comes from; default: the runtime's clock. */
  readonly clock?: Clock | undefined
}

/** How long a waiter relies on notifications, in milliseconds. Redis may drop a message, and a connection may hang. */
const recheckMs = 1_000

/**
 * Makes a notifier over Redis pub/sub, with one connection for all waiters of the process. Where calls share nothing
 * (Workers), each subscription has a connection of its own. Does no I/O before the first subscription.
 *
 * While anybody waits, a connection that has been quiet for 5 s is probed, and replaced if it does not answer within
 * 2 s.
 *
 * `onStateChange` reports `disconnected`, with a cause that has no credentials in it, when
 * - a connection has gone silent
 * - connecting has failed three times in a row, or has taken longer than 5 s
 * - a subscription is refused
 * - two releases in a row were missed although the subscription was confirmed
 *
 * It reports `reconnected` when the server has confirmed the subscriptions again, or when a release is heard after
 * several were missed.
 *
 * @example
 * ```ts
 * const locks = createLocker({ store: redisStore(transport), notifier: pubsubNotifier(subscriber) })
 * ```
 *
 * @throws InvalidOptionError for an unknown option, or a bad `prefix` or `mode`
 */
export function pubsubNotifier(subscriber: RedisSubscriber, options: PubsubNotifierOptions = {}): ReleaseNotifier {
  demandObject(options)
  const { prefix, mode = 'channels', clock = systemClock, ...rest } = options
  refuseUnknown(rest)
  demandOption(['channels', 'pattern'].includes(mode), 'mode', '"channels" or "pattern"', mode)
  const layout = keyLayout(prefix)
  const pattern = mode === 'pattern' ? releasePattern(layout) : undefined
  const troubles = new NotifierTroubles()
  const shared = new ReleaseChannels({ subscriber, clock, pattern, troubles, home: homeContext() })
  const notifier: ReleaseNotifier = {
    checks: false,
    recheckMs,
    prefix: layout.prefix,
    subscribe(key) {
      const channel = layout.releaseChannel(key)
      if (sharesBetweenCalls()) return shared.listen(channel)
      const own = new ReleaseChannels({ subscriber, clock, pattern: undefined, troubles, home: (task) => task() })
      return own.listen(channel, undefined, () => own.close())
    },
    waiter(waitClock, plan) {
      return notifiedWaiter(this, waitClock, plan)
    },
    onStateChange: (listener) => troubles.onStateChange(listener),
    async close() {
      shared.close()
    },
  }
  return offerInbox(notifier, {
    open: (name, listener) => shared.listen(inboxChannel(layout.prefix, name), listener),
  })
}
