import { demandOption } from '../errors.ts'
import { KeyCalls, type Shared, sharedOf, type TryAcquireOptions } from '../key-locker.ts'
import type { Lease } from '../lease/lease.ts'
import { Renewal } from '../lease/renewal.ts'
import type { LocalQueue } from '../local-queue/local-queue.ts'
import type { Locker } from '../locker.ts'
import { callSettings } from '../options.ts'
import { checkDetached, type DetachedLease } from './detached-lease.ts'
import { handOverOf } from './hand-over-of.ts'
import { Takeover } from './takeover.ts'

/**
 * Takes a detached lease over. The lock is never free in between: one step replaces its token, which makes the message
 * worthless, and mints a higher fence. The result is an ordinary lease of this locker, with the ttl and renewal that
 * you ask for here. The store never keeps it for less time than it would have kept the detached one.
 *
 * Queues may deliver a message twice. Of several calls that resume it, one gets the lease; the others are refused with
 * `reason: 'superseded'`.
 *
 * A refusal means that this message no longer brings a lease, not that its work was done: whoever resumed it may have
 * died, and a resume without an answer may have used it up. If the work still has to be done, acquire its key again.
 *
 * @example
 * ```ts
 * await using lease = await resume(locks, message.body, { ttl: '2m' })
 * await importRows({ fence: lease.fence, signal: lease.signal })
 * ```
 *
 * @throws LeaseLostError if the lease has ended (`gone`), or another has or had the lock since (`superseded`)
 * @throws StoreUnavailableError when the store did not answer. With `executed: 'no'` the message can be resumed later.
 *   With `unknown` it may be worthless; what it may have brought is given back in the background
 * @throws InvalidOptionError for a bad message or option, or a locker whose store offers no hand-over
 * @throws LeaseholdError with code `CLOSED` once the locker is closed
 * @throws LeaseholdError with code `KIND_MISMATCH` if the key holds something that is not a lock
 * @throws the signal's own reason when `signal` is aborted; what may have been taken over is given back
 */
export async function resume(
  locks: Locker,
  message: DetachedLease,
  options?: Omit<TryAcquireOptions, 'queue'>,
): Promise<Lease> {
  const shared = sharedOf(locks)
  const handOver = shared && handOverOf(shared.context.store)
  demandOption(shared !== undefined && handOver !== undefined, 'locks', 'a locker whose store offers hand-over')
  // Whoever resumes a lease already has it, and stands in no queue.
  demandOption(!Object(options).queue, 'queue', 'left out: a resume waits for nobody')
  const { queue: _, ...defaults } = shared.defaults
  const { context, jointRenewal } = shared
  const detached = checkDetached(message)
  const neighbours = shared.queue()
  // A resume is a try whose grant comes from elsewhere. The waiters of this process do not know of it, and compete at
  // the store.
  const queue: LocalQueue = {
    acquire: (plan, since) => new Takeover(context, handOver, detached, plan, since).run(),
    handOff: () => false,
    ended: (grant, subscribers) => neighbours?.ended(grant, subscribers),
    holding: () => undefined,
    close: () => undefined,
  }
  const taking: Shared = {
    context,
    queue: () => queue,
    jointRenewal: neighbours ? jointRenewal : new Renewal(context),
    defaults,
  }
  return (await new KeyCalls(taking, detached.key, callSettings(defaults)).tryAcquire(options)) as Lease
}
