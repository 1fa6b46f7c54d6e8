import { follow, ManualClock, ScriptedNotifier } from '@leasehold/testkit'
import { describe, expect, it } from 'vitest'
import { poll } from '../timing/backoff.ts'
import type { SetPlan } from './set-plan.ts'
import { setWaiter } from './set-waiter.ts'

const held = { cursor: 'somebody', expiresInMs: 3_600_000 }
const signal = new AbortController().signal

describe.each([
  ['with a notifier', () => new ScriptedNotifier()],
  ['without a notifier', () => undefined],
])('a waiter for a set, %s', (_, notifier) => {
  function setUp() {
    const clock = new ManualClock()
    const plan = { key: 'a', strategy: poll({ every: '1h' }), recheckMs: 3_600_000 } as SetPlan
    const waiter = setWaiter(notifier(), clock, plan)
    /** Pauses for a lock; resolves with whether the pause has ended at once. */
    async function endsAtOnce(key: string): Promise<boolean> {
      plan.key = key
      const pause = follow(
        waiter.pause(held, () => 3_600_000, signal),
        clock,
      )
      await clock.advance(0)
      return pause.state === 'fulfilled'
    }
    return { waiter, clock, endsAtOnce }
  }

  it('does not pause if it was woken before its first pause', async () => {
    const { waiter, endsAtOnce } = setUp()
    waiter.wake()
    expect(await endsAtOnce('a')).toBe(true)
  })

  it('does not pause if it was woken before it knew for which lock, but does the next time', async () => {
    const { waiter, clock, endsAtOnce } = setUp()
    await endsAtOnce('a')
    await clock.advance(3_600_000)
    await endsAtOnce('b')
    await clock.advance(3_600_000)
    waiter.wake()
    expect(await endsAtOnce('a')).toBe(true)
    expect(await endsAtOnce('a')).toBe(false)
  })
})
