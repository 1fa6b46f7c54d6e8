import type { Context } from '../context.ts'
import { demandOption } from '../errors.ts'
import { sharedOf } from '../key-locker.ts'
import type { Locker } from '../locker.ts'
import { isUnknown, unanswered } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import type { Refused, Unknown } from '../store/lease-store.ts'
import type { ListingStore } from '../store/listing.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { Span } from '../timing/span.ts'
import { listingOf } from './listing-of.ts'

/** What a list needs of a locker: its context, and the listing port of its store. */
export interface Listed {
  readonly context: Context
  readonly listing: ListingStore
}

/** @throws InvalidOptionError for a locker whose store cannot list its locks */
export function listingContext(locks: Locker): Listed {
  const context = sharedOf(locks)?.context
  const listing = context && listingOf(context.store)
  demandOption(context !== undefined && listing !== undefined, 'locks', 'a locker whose store can list its locks')
  return { context, listing }
}

/**
 * Repeats a question until it is answered, within the store's command deadline. No question changes anything.
 *
 * @throws the signal's reason
 * @throws StoreUnavailableError if there was no answer
 */
export async function askListing<O extends { readonly type: string }>(
  { context }: Listed,
  signal: AbortSignal | undefined,
  send: (call: CallDeadline) => Promise<O | Unknown | Refused>,
): Promise<Exclude<O, Unknown | Refused>> {
  context.work.assertOpen()
  const span = new Span()
  const unlink = signal && span.endWith(signal)
  try {
    signal?.throwIfAborted()
    const { outcome } = await ask<O | Unknown | Refused>(context, Infinity, {
      span,
      send: (attempt) => attempt.follow(send(attempt)),
    })
    if (isUnknown(outcome)) throw unanswered('a list of locks', outcome)
    if (outcome.type === 'refused') throw (outcome as Refused).error
    return outcome as Exclude<O, Unknown | Refused>
  } finally {
    unlink?.()
  }
}
