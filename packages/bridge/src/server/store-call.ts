import type { Clock } from '@leasehold/core'
import { Call, type CheckOutcome, type LeaseStore, type Unknown } from '@leasehold/core/adapter'

/** How long the store may take to answer, in milliseconds. */
export const checkDeadlineMs = 2_000
/** How long a store may take after its deadline to return what it knows, in milliseconds: some answers, or why there are none. */
const lastWordMs = 50

/** Asks the store about all these keys in one call, within a deadline. Resolves with one outcome for each. Never rejects. */
export function askStore(
  store: Pick<LeaseStore, 'checkHolders'>,
  clock: Clock,
  keys: readonly string[],
): Promise<readonly CheckOutcome[]> {
  const call = new Call(checkDeadlineMs)
  return new Promise((resolve) => {
    let stopTimer = (): void => undefined
    const settle = (outcomes: readonly CheckOutcome[]): void => {
      stopTimer()
      resolve(keys.map((_, index) => outcomes[index] ?? silent))
    }
    const giveUp = (): void => {
      stopTimer = clock.schedule(() => settle([]), lastWordMs, 'background')
      call.end()
    }
    stopTimer = clock.schedule(giveUp, checkDeadlineMs, 'background')
    const ask = async (): Promise<readonly CheckOutcome[]> =>
      store.checkHolders(
        keys.map((key) => ({ key, cursor: '-' })),
        call,
      )
    ask().then(settle, (cause) => settle(keys.map(() => ({ ...silent, cause }))))
  })
}

const silent: Unknown = { type: 'unknown', executed: 'unknown' }
