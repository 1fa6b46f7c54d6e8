import { inboxOffers } from '#beside'
import type { ReleaseNotifier } from './release-notifier.ts'

/**
 * An optional port of a notifier: it carries the messages of a queue to the processes that wait in it.
 *
 * A message is a hint, like any notification: it may be lost, late or spurious.
 */
export interface Inbox {
  /**
   * Whether the store cannot tell if anybody listens, as over HTTP. Turns then come on the release channels, and its
   * processes get the longer times of HTTP.
   */
  readonly isNameOnly?: boolean
  /**
   * Starts listening to the inbox of this name. The listener is called with each message, and with undefined when
   * messages may have been missed. No I/O before the first call; a closed inbox leaves nothing behind.
   */
  open(name: string, listener: (message: string | undefined) => void): OpenInbox
}

export interface OpenInbox {
  /** Resolves when messages are being heard, or when that turns out to be impossible for now. Never rejects. */
  readonly ready: Promise<void>
  /** Whether messages are being heard at this moment. */
  readonly live: boolean
  close(): void
}

/** Kept beside the notifiers, not on them, as with `offerPassOn`. */
const offers = inboxOffers as WeakMap<ReleaseNotifier, Inbox>

/** Offers inboxes for a notifier, and returns the notifier. */
export function offerInbox(notifier: ReleaseNotifier, inbox: Inbox): ReleaseNotifier {
  offers.set(notifier, inbox)
  return notifier
}

/** The port, if the notifier offers it. */
export const inboxOf = (notifier: ReleaseNotifier): Inbox | undefined => offers.get(notifier)
