import { homeContext, sharesBetweenCalls } from '#sharing'
import { type Clock, systemClock } from '../timing/clock.ts'
import { notifiedWaiter } from '../waiting/notified-waiter.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import { keyLayout, releasePattern } from './keys.ts'
import type { RedisSubscriber } from './redis-subscriber.ts'
import { ReleaseChannels } from './release-channels.ts'
import { Troubles } from './troubles.ts'

export interface PubsubNotifierOptions {
  /** The store's prefix; default `lock:`. */
  readonly prefix?: string | undefined
  /**
   * `channels` (default) subscribes to the channel of each key that is waited for; `pattern` to all releases under the
   * prefix, once, which suits a process that waits for very many keys.
   */
  readonly mode?: 'channels' | 'pattern' | undefined
  /** Default: the runtime's. */
  readonly clock?: Clock | undefined
}

/** How long a waiter relies on it. Redis may drop a message, and a connection may hang: so never for long. */
const recheckMs = 1_000

/**
 * Release notifications over Redis pub/sub, on one connection for all waiters of the process. Where calls share nothing
 * (Workers) each subscription has a connection of its own. Does no I/O before the first subscription.
 *
 * While anybody waits, a connection that has been quiet for 5 s is asked for a sign of life, and replaced if there is none
 * within 2 s. `onStateChange` tells `disconnected` of a connection that has gone silent so; of one that could not be made
 * three times in a row, or not within 5 s; of a subscription that is refused; and of releases that were missed twice in a
 * row although the subscription was in order. The cause has no credentials in it. It tells `reconnected` when the server
 * has confirmed the subscription again, or a release was heard after some were missed.
 *
 * @throws InvalidOptionError for a bad prefix
 */
export function pubsubNotifier(subscriber: RedisSubscriber, options: PubsubNotifierOptions = {}): ReleaseNotifier {
  const { prefix, mode = 'channels', clock = systemClock } = options
  const layout = keyLayout(prefix)
  const pattern = mode === 'pattern' ? releasePattern(layout) : undefined
  const troubles = new Troubles()
  const shared = new ReleaseChannels({ subscriber, clock, pattern, troubles, home: homeContext() })
  return {
    checks: false,
    recheckMs,
    prefix: layout.prefix,
    subscribe(key) {
      const channel = layout.releaseChannel(key)
      if (sharesBetweenCalls()) return shared.listen(channel)
      const own = new ReleaseChannels({ subscriber, clock, pattern: undefined, troubles, home: (task) => task() })
      return own.listen(channel, () => own.close())
    },
    waiter(waitClock, plan) {
      return notifiedWaiter(this, waitClock, plan)
    },
    onStateChange: (listener) => troubles.onStateChange(listener),
    async close() {
      shared.close()
    },
  }
}
