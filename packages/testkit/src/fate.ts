import type { Clock, Executed } from '@leasehold/core'
import type { Refused, Unknown } from '@leasehold/core/adapter'
import type { PresenceStore } from '@leasehold/core/presence'
import type { QueuedWaiter, QueueStore } from '@leasehold/core/queue'

/** The calls of the store port and of further ports: `acquireAll`, `releaseAfter`, `resume`, queues and presence. */
export type StoreCallName =
  | 'acquire'
  | 'acquireAll'
  | 'renew'
  | 'release'
  | 'releaseAfter'
  | 'checkHolders'
  | 'inspect'
  | 'revoke'
  | 'resume'
  | `queue.${keyof QueueStore}`
  | `presence.${keyof PresenceStore}`

/** One call as it reached the store. */
export interface StoreCall {
  readonly name: StoreCallName
  /** When it came, by the monotonic clock. */
  readonly atMs: number
  readonly requests: readonly {
    readonly key: string
    readonly acquisitionId?: string | undefined
    readonly token?: string
    readonly ttlMs?: number
    readonly waiter?: QueuedWaiter | undefined
    readonly numbers?: readonly number[]
  }[]
}

/** A call in flight. Its fate decides whether and when it is carried out, and what comes back of the answer. */
export interface Sending<O> {
  readonly clock: Clock
  /** The requests; the caller expects an outcome for each. */
  readonly requests: StoreCall['requests']
  /** The caller's signal: aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal
  /** Carries the requests out in the real store. */
  execute(): Promise<readonly O[]>
}

/** Decides what happens to one call. */
export type Fate = <O>(sending: Sending<O>) => Promise<readonly (O | Unknown | Refused)[]>

/** The ordinary fate: carried out and answered. */
export const answered: Fate = ({ execute }) => execute()

/** Carried out, and the answer never comes. As with a client, the outcome is unknown once the caller gives up. */
export const replyLost: Fate = async (sending) => {
  await sending.execute()
  return silence(sending)
}

/** Neither carried out nor answered. As with a client, the outcome is unknown once the caller gives up. */
export const requestLost: Fate = (sending) => silence(sending)

/** Carried out at once, answered `ms` later. */
export const replyAfter =
  (ms: number): Fate =>
  async ({ clock, execute }) => {
    const outcomes = await execute()
    await later(clock, ms)
    return outcomes
  }

/** Carried out `ms` later, even if the caller has given up by then, and answered at once. */
export const requestAfter =
  (ms: number): Fate =>
  async ({ clock, execute }) => {
    await later(clock, ms)
    return execute()
  }

/** Answered at once as unknown; carried out only if `executed` is `'unknown'`. */
export const unavailable =
  (executed: Executed, cause: unknown = new Error('connection is closed')): Fate =>
  async ({ requests, execute }) => {
    if (executed === 'unknown') await execute()
    return requests.map(() => ({ type: 'unknown', executed, cause }))
  }

/** Refused for good, and not carried out. */
export const refusing =
  (error: Refused['error']): Fate =>
  async ({ requests }) =>
    requests.map(() => ({ type: 'refused', error }))

const silence = ({ requests, signal }: Pick<Sending<unknown>, 'requests' | 'signal'>): Promise<readonly Unknown[]> =>
  new Promise((resolve) => {
    const giveUp = (): void => resolve(requests.map(() => ({ type: 'unknown', executed: 'unknown' })))
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
  })

const later = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => {
    clock.schedule(resolve, ms)
  })
