import type { Lease } from '@leasehold/core'
import type { LeaseStore } from '@leasehold/core/adapter'
import { expect } from 'vitest'
import type { Process } from './process.ts'

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

/**
 * Claims that no store has told the processes that a lease of theirs is not there, and that their crew met with nothing
 * but servers that did not answer.
 *
 * @param faults what their crew reports
 */
export function expectNothingLost(processes: readonly Process[], faults: readonly string[]): void {
  for (const fault of faults) expect(fault).toMatch(/StoreUnavailableError: |A completion answered unknown/)
  for (const { events } of processes) {
    expect(events.filter((event) => event.type === 'lost' && /^(gone|superseded)$/.test(event.reason))).toEqual([])
  }
}
