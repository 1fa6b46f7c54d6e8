/** `@leasehold/bridge-client/event-streams`: the mode `sse` for runtimes that do not ship it by default. */

import { offerInbox, type ReleaseNotifier } from '@leasehold/core/adapter'
import type { BridgeReach } from './bridge-reach.ts'
import type { OpenChannel } from './channel.ts'
import { eventStream } from './event-stream.ts'

/** A `mode` of `bridgeNotifier`; `eventStreams` is the only one. */
export interface EventStreams {
  /** Opens a stream. */
  readonly open: OpenChannel
  /** Lets the streams of this notifier notify waiters in queues of their turns. */
  offerTurns(notifier: ReleaseNotifier, reach: BridgeReach): void
}

/**
 * Hears releases over event streams. On servers, the mode `'sse'` means this, and is the default.
 *
 * @example
 * ```ts
 * import { bridgeNotifier } from '@leasehold/bridge-client'
 * import { eventStreams } from '@leasehold/bridge-client/event-streams'
 *
 * const notifier = bridgeNotifier({ url: env.BRIDGE_URL, token: env.BRIDGE_TOKEN, mode: eventStreams })
 * ```
 */
export const eventStreams: EventStreams = {
  open: eventStream,
  offerTurns(notifier, reach) {
    offerInbox(notifier, {
      // A stream belongs to a process, which notifies its own waiters.
      isNameOnly: true,
      open(name, listener) {
        reach.inboxes.set(name, listener)
        return { ready: Promise.resolve(), live: false, close: () => reach.inboxes.delete(name) }
      },
    })
  },
}
