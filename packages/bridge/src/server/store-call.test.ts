import type { CallDeadline, CheckOutcome, CheckRequest } from '@leasehold/core/adapter'
import { ManualClock } from '@leasehold/testkit'
import { beforeEach, expect, test } from 'vitest'
import { askStore } from './store-call.ts'

let clock: ManualClock
let signal: AbortSignal | undefined
beforeEach(() => {
  clock = new ManualClock()
  signal = undefined
})

/** Asks a store that gives this answer, which may never come. */
function ask(answer: Promise<readonly CheckOutcome[]>) {
  const store = {
    checkHolders(_requests: readonly CheckRequest[], given: CallDeadline) {
      signal = given.signal
      return answer
    },
  }
  return askStore(store, clock, ['a'])
}

test('a call that was answered leaves no timer, and aborts nothing', async () => {
  const seen = { type: 'checked', changed: true, cursor: '-', expiresInMs: null } as const
  expect(await ask(Promise.resolve([seen]))).toEqual([seen])
  expect([clock.pending, signal?.aborted]).toEqual([0, false])
})

test('a call that is not answered within 2 s is given up, and the store is told', async () => {
  const asking = ask(new Promise(() => undefined))
  await clock.advance(1_999)
  expect(signal?.aborted).toBe(false)
  await clock.advance(51)
  expect(await asking).toEqual([{ type: 'unknown', executed: 'unknown' }])
  expect([clock.pending, signal?.aborted]).toEqual([0, true])
})
