import type { Clock } from '@leasehold/core'
import { Call, type CallDeadline, type CheckOutcome, type LeaseStore, type Unknown } from '@leasehold/core/adapter'

/** How long the store may take to answer, in milliseconds. */
export const checkDeadlineMs = 2_000
/**
 * How long after its deadline a store may take to return what it knows, in milliseconds: some answers, or why there are
 * none.
 */
const lastWordMs = 50

/**
 * Asks the store about all these keys in one call, within a deadline. Resolves with one outcome per key. Never rejects.
 */
export const askStore = (
  store: Pick<LeaseStore, 'checkHolders'>,
  clock: Clock,
  keys: readonly string[],
): Promise<readonly CheckOutcome[]> =>
  inTime(clock, keys.length, (call) =>
    store.checkHolders(
      keys.map((key) => ({ key, cursor: '-' })),
      call,
    ),
  )

/**
 * Makes a call with `count` outcomes, within a deadline. Resolves with that many; missing ones are unknown. Never
 * rejects.
 */
export function inTime<O>(
  clock: Clock,
  count: number,
  ask: (call: CallDeadline) => Promise<readonly O[]>,
): Promise<readonly (O | Unknown)[]> {
  const call = new Call(checkDeadlineMs)
  return new Promise((resolve) => {
    let stopTimer = (): void => undefined
    const settle = (outcomes: readonly O[], failure: Unknown = silent): void => {
      stopTimer()
      resolve(Array.from({ length: count }, (_, index) => outcomes[index] ?? failure))
    }
    const giveUp = (): void => {
      stopTimer = clock.schedule(() => settle([]), lastWordMs, 'background')
      call.end()
    }
    stopTimer = clock.schedule(giveUp, checkDeadlineMs, 'background')
    const asking = async (): Promise<readonly O[]> => ask(call)
    asking().then(settle, (cause) => settle([], { ...silent, cause }))
  })
}

const silent: Unknown = { type: 'unknown', executed: 'unknown' }
