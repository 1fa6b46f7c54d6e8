import type { Lease } from '@leasehold/core'

/** Resolves with the reason of a lease's loss, once it is lost. */
export const lossOf = ({ signal }: Lease): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
