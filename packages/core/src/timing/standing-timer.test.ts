import { ManualClock } from '@leasehold/testkit'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { StandingTimer } from './standing-timer.ts'

let clock: ManualClock
let cameAtMs: number[]

beforeEach(() => {
  clock = new ManualClock()
  cameAtMs = []
})

const timer = (mode: 'standing' | 'background'): StandingTimer =>
  new StandingTimer(clock, () => cameAtMs.push(clock.monotonicMs()), mode)

const setBy = (timer: StandingTimer, atMs: number): void => timer.setBy(atMs, clock.monotonicMs())

describe.each(['standing', 'background'] as const)('a %s timer', (mode) => {
  it('is one for all, and comes for the soonest', async () => {
    const one = timer(mode)
    for (const atMs of [300, 200, 250.5, 200]) setBy(one, atMs)
    expect(clock.timers).toEqual([{ dueInMs: 200, background: true }])
    await clock.advance(1_000)
    expect(cameAtMs).toEqual([200])
  })

  it('comes again only if it is set again, and never before its time', async () => {
    const one = timer(mode)
    setBy(one, 0.2)
    await clock.advance(10)
    setBy(one, 20.1)
    await clock.advance(1_000)
    expect(cameAtMs).toEqual([1, 21])
    expect(clock.timers).toEqual([])
  })
})

describe('a timer that nothing needs any more', () => {
  it('stays, serves who comes next, and ends by itself', async () => {
    const one = timer('standing')
    setBy(one, 100)
    one.rest()
    expect([clock.timers.length, clock.pending]).toEqual([1, 0])
    setBy(one, 150)
    expect(clock.timers.length).toBe(1)
    await clock.advance(1_000)
    expect(cameAtMs).toEqual([100])
    expect(clock.timers).toEqual([])
  })

  it('is cancelled where it belongs to one call, and can be set again', async () => {
    const one = timer('background')
    setBy(one, 100)
    one.rest()
    expect(clock.timers).toEqual([])
    setBy(one, 150)
    await clock.advance(1_000)
    expect(cameAtMs).toEqual([150])
  })
})

it('that never came, as on fake timers that were taken away, comes as soon as somebody asks', async () => {
  const one = timer('standing')
  const taken = vi.spyOn(clock, 'schedule').mockReturnValueOnce(() => undefined)
  setBy(one, 100)
  expect(taken).toHaveBeenCalledTimes(1)
  await clock.advance(1_100)
  // The timer may be late if the process was busy.
  setBy(one, 5_000)
  expect(clock.timers).toEqual([])
  await clock.advance(1)
  setBy(one, 5_000)
  await clock.advance(10)
  expect(cameAtMs).toEqual([1_102])
})
