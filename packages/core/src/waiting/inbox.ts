import { inboxOffers } from '#beside'
import type { ReleaseNotifier } from './release-notifier.ts'

/**
 * A further port, which a notifier may offer: it carries the messages of a queue to those who wait in it.
 *
 * A message is a hint, like any other of a notifier: it may be lost, late or spurious.
 */
export interface Inbox {
  /**
   * Whether the store cannot tell that anybody listens, as over HTTP. Then turns come by the release channels, and its processes get
   * the time that HTTP takes.
   */
  readonly isNameOnly?: boolean
  /**
   * Begins to listen to the inbox of that name. The listener is called with each message, and with undefined when messages may
   * have been missed. No I/O before the first call; an inbox that is closed leaves nothing behind.
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

/** Beside the notifiers and not on them, as with `offerPassOn`. */
const offers = inboxOffers as WeakMap<ReleaseNotifier, Inbox>

/** Offers inboxes, and answers the notifier. */
export function offerInbox(notifier: ReleaseNotifier, inbox: Inbox): ReleaseNotifier {
  offers.set(notifier, inbox)
  return notifier
}

/** The port, if the notifier offers it. */
export const inboxOf = (notifier: ReleaseNotifier): Inbox | undefined => offers.get(notifier)
