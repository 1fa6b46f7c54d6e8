import type { LookOutcome, LookRequest } from '@leasehold/core'
import { ManualClock } from '@leasehold/testkit'
import { beforeEach, expect, test } from 'vitest'
import { countedLook } from './paced-look.ts'

let clock: ManualClock
let signal: AbortSignal | undefined
beforeEach(() => {
  clock = new ManualClock()
  signal = undefined
})

/** A look at a store that answers so, or never. */
function look(answer: Promise<LookOutcome>) {
  const store = {
    async look(_requests: readonly LookRequest[], given?: AbortSignal) {
      signal = given
      return [await answer]
    },
  }
  return countedLook(store, clock, () => undefined)('a', 'expiry')
}

test('a look that was answered leaves no timer, and aborts nothing', async () => {
  const seen = { type: 'looked', changed: true, cursor: '-', expiresInMs: null } as const
  expect(await look(Promise.resolve(seen))).toEqual(seen)
  expect([clock.pending, signal?.aborted]).toEqual([0, false])
})

test('a look that is not answered within 2 s is given up, and the store is told', async () => {
  const looking = look(new Promise(() => undefined))
  await clock.advance(2_000)
  expect(await looking).toEqual({ type: 'unavailable' })
  expect([clock.pending, signal?.aborted]).toEqual([0, true])
})
