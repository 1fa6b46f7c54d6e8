import { demandOption } from '../errors.ts'
import { sharedOf } from '../key-locker.ts'
import type { Locker } from '../locker.ts'
import { answered } from '../store/answered.ts'
import { ask } from '../store/ask.ts'
import { checkKey } from '../store/key.ts'
import type { QueueHolder, QueueInspection, QueueKind, QueueWaiter } from '../store/queue.ts'
import { queueOf } from './queue-of.ts'

type Shown = Extract<QueueInspection, { readonly type: 'state' }>

/** Who has a lock, and who queues for it. */
export interface QueueState {
  /** What kind of lock it is now; null if nobody has it or waits for it. */
  readonly kind: QueueKind | null
  /** How many permits are held, by all holders: 1 for a lock for one holder. */
  readonly held: number
  /** At most 1,000: those whose leases end first. */
  readonly holders: readonly QueueHolder[]
  /** The first 100 waiters, in the order in which they are served. */
  readonly waiters: readonly QueueWaiter[]
  /** How many wait, including waiters whose process may have died recently. */
  readonly waiting: number
}

/**
 * Returns who has a lock now and who queues for it, in order. By the time you read the result, it may have changed.
 *
 * @example
 * ```ts
 * const { holders, waiting } = await inspectQueue(locks, 'job')
 * ```
 *
 * @throws StoreUnavailableError when the store did not answer
 * @throws InvalidOptionError for a bad key, or a locker whose store has no queues
 * @throws LeaseholdError with code `CLOSED` once the locker is closed
 * @throws LeaseholdError with code `KIND_MISMATCH` if the key holds something that is not a lock
 */
export async function inspectQueue(locks: Locker, key: string): Promise<QueueState> {
  const shared = sharedOf(locks)
  const port = shared && queueOf(shared.context.store)
  demandOption(shared !== undefined && port !== undefined, 'locks', 'a locker whose store has queues')
  const { context } = shared
  checkKey(key)
  context.work.assertOpen()
  const { outcome, before } = await ask<QueueInspection>(context, Infinity, {
    send: (attempt) => attempt.follow(port.inspect(key, attempt)),
  })
  const { type: _, ...state } = answered('inspect', key, outcome as Shown, before)
  return state
}
