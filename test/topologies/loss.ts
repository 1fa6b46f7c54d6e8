import type { Lease } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'

/** Resolves with the reason of a lease's loss, once it is lost. */
export const lossOf = ({ signal }: Lease): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })

/** Collects what a store answers to renewals of a lock from now on. Renewals without an answer are not in it. */
export function renewalsAnswered(store: LeaseStore, key: string): readonly string[] {
  const answers: string[] = []
  const renew = store.renew.bind(store)
  store.renew = async (requests, call) => {
    const outcomes = await renew(requests, call)
    for (const [at, { type }] of outcomes.entries()) {
      if (requests[at]?.key === key && type !== 'unknown') answers.push(type)
    }
    return outcomes
  }
  return answers
}
