import type { Context } from '../context.ts'
import type { Shared } from '../key-locker.ts'
import type { Grant } from '../lease/grant.ts'
import { only } from '../store/answered.ts'
import type { LeaseStore, ReleaseOutcome, ReleaseRequest } from '../store/lease-store.ts'
import type { ReleaseAfterStore } from '../store/release-after.ts'
import { storeWith } from '../store/store-with.ts'
import type { CallDeadline } from '../timing/call-deadline.ts'
import { elapsedMs, type Instant, instant } from '../timing/validity.ts'

/** What one call shares with the other calls of its locker, except for how its lease is released. */
export interface Keeping {
  readonly shared: Shared
  /** Called when a caller gets the lease. A grant that no caller got is given back at once. */
  begin(grant: Grant): void
}

/**
 * A lease whose release leaves the lock taken for the rest of a time is like any other, with two exceptions: the
 * release, and that it is not handed off within the process, because the next holder also has to wait until that time
 * is over.
 */
export function keeping(locker: Shared, store: ReleaseAfterStore, atLeastMs: number): Keeping {
  const { context } = locker
  const neighbours = locker.queue()
  const queue = neighbours && { ...neighbours, handOff: () => false }
  let kept: Grant | undefined
  let since: Instant | undefined
  const keeps: Keeping = {
    shared: { ...locker, context: contextFor(context, release), queue: () => queue },
    begin(grant) {
      kept = grant
      // Counted from the answer, not from the request: the lock may not have been granted before.
      since = instant(context.clock)
    },
  }

  async function release(requests: readonly ReleaseRequest[], call: CallDeadline): Promise<readonly ReleaseOutcome[]> {
    const token = kept?.token
    const afterMs = since ? Math.ceil(atLeastMs - elapsedMs(instant(context.clock), since)) : 0
    const isOurs = requests.every((request) => 'token' in request && request.token === token)
    if (token === undefined || !isOurs || afterMs < 1) return context.store.release(requests, call)
    return store.releaseAfter(
      requests.map(({ key }) => ({ key, token, afterMs })),
      call,
    )
  }
  return keeps
}

/** The same context over a store that releases in another way, also where several leases are released together. */
function contextFor(context: Context, release: LeaseStore['release']): Context {
  const { store, calls } = context
  return {
    ...context,
    store: storeWith(store, { release }),
    calls: { ...calls, release: (request, attempt) => attempt.follow(only(release([request], attempt))) },
  }
}
