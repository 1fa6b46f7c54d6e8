import { homeContext, sharesBetweenCalls } from '#sharing'
import { type Clock, systemClock } from '../timing/clock.ts'
import { notifiedWaiter } from '../waiting/notified-waiter.ts'
import type { ReleaseNotifier } from '../waiting/release-notifier.ts'
import { keyLayout } from './keys.ts'
import type { RedisSubscriber } from './redis-subscriber.ts'
import { ReleaseChannels } from './release-channels.ts'
import { Unheard } from './unheard.ts'

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
 * within 2 s. `onUnheard` is told of a connection that has gone silent so; of one that could not be made three times in a
 * row, or not within 5 s; of a subscription that is refused; and of releases that were missed twice in a row although the
 * subscription was in order. What it is told has no credentials in it.
 *
 * @throws InvalidOptionError for a bad prefix
 */
export function pubsubNotifier(subscriber: RedisSubscriber, options: PubsubNotifierOptions = {}): ReleaseNotifier {
  const { prefix, mode = 'channels', clock = systemClock } = options
  const layout = keyLayout(prefix)
  const pattern = mode === 'pattern' ? `${escapeGlob(layout.releaseChannel(''))}*` : undefined
  const unheard = new Unheard()
  const shared = new ReleaseChannels({ subscriber, clock, pattern, unheard, home: homeContext() })
  return {
    checks: false,
    recheckMs,
    prefix: layout.prefix,
    subscribe(key) {
      const channel = layout.releaseChannel(key)
      if (sharesBetweenCalls()) return shared.listen(channel)
      const own = new ReleaseChannels({ subscriber, clock, pattern: undefined, unheard, home: (task) => task() })
      return own.listen(channel, () => own.close())
    },
    waiter(waitClock, plan) {
      return notifiedWaiter(this, waitClock, plan)
    },
    onUnheard: (listener) => unheard.onUnheard(listener),
    async close() {
      shared.close()
    },
  }
}

/** A prefix is meant literally, whatever glob characters it has. */
const escapeGlob = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&')
