import { describe, expect, it } from 'vitest'
import { ManualClock } from './manual-clock.ts'

describe('ManualClock', () => {
  it('stands still until it is advanced', async () => {
    const clock = new ManualClock(1_000)
    await new Promise((resolve) => setImmediate(resolve))
    expect([clock.monotonicMs(), clock.wallMs()]).toEqual([0, 1_000])
    await clock.advance(5)
    expect([clock.monotonicMs(), clock.wallMs()]).toEqual([5, 1_005])
  })

  it('runs due timers in the order they are due, each at its own time', async () => {
    const clock = new ManualClock()
    const ran: [string, number][] = []
    const note = (name: string) => () => ran.push([name, clock.monotonicMs()])
    clock.schedule(note('late'), 30)
    clock.schedule(note('first of two'), 10)
    clock.schedule(note('second of two'), 10)
    clock.schedule(note('not yet'), 31)
    await clock.advance(30)
    expect(ran).toEqual([
      ['first of two', 10],
      ['second of two', 10],
      ['late', 30],
    ])
    expect(clock.pending).toBe(1)
  })

  it('lets promises settle between two timers, and runs what they arm if it is due', async () => {
    const clock = new ManualClock()
    const ran: string[] = []
    clock.schedule(async () => {
      for (let step = 0; step < 20; step++) await Promise.resolve()
      clock.schedule(() => ran.push('armed on the way'), 5)
    }, 10)
    clock.schedule(() => ran.push('armed before'), 20)
    await clock.advance(20)
    expect(ran).toEqual(['armed on the way', 'armed before'])
  })

  it('does not run a cancelled timer', async () => {
    const clock = new ManualClock()
    const cancel = clock.schedule(() => expect.unreachable(), 10)
    cancel()
    cancel()
    expect(clock.pending).toBe(0)
    await clock.advance(20)
  })

  it('lists what is armed, soonest first', async () => {
    const clock = new ManualClock()
    clock.schedule(() => undefined, 20)
    clock.schedule(() => undefined, 10, 'background')
    await clock.advance(4)
    expect(clock.timers).toEqual([
      { dueInMs: 6, background: true },
      { dueInMs: 16, background: false },
    ])
  })

  it('moves the wall clock alone when that is set or the machine is suspended', async () => {
    const clock = new ManualClock(0)
    clock.schedule(() => expect.unreachable(), 10)
    clock.stepWall(-500)
    clock.freeze(2_000)
    expect([clock.monotonicMs(), clock.wallMs()]).toEqual([0, 1_500])
    await clock.advance(9)
    expect(clock.pending).toBe(1)
  })

  it('runs timers late after the event loop was busy', async () => {
    const clock = new ManualClock(0)
    const ranAt: number[] = []
    clock.schedule(() => ranAt.push(clock.monotonicMs()), 10)
    clock.block(100)
    expect([clock.wallMs(), ranAt]).toEqual([100, []])
    await clock.advance(0)
    expect(ranAt).toEqual([100])
  })

  it('refuses a timer that re-arms itself without a delay', async () => {
    const clock = new ManualClock()
    const again = (): void => void clock.schedule(again, 0)
    again()
    await expect(clock.advance(1)).rejects.toThrow('re-arms itself without a delay')
  }, 60_000)

  it('refuses delays and steps that are no times', async () => {
    const clock = new ManualClock()
    expect(() => clock.schedule(() => undefined, Number.NaN)).toThrow(RangeError)
    await expect(clock.advance(-1)).rejects.toThrow(RangeError)
    const advancing = clock.advance(1)
    await expect(clock.advance(1)).rejects.toThrow('await one advance before the next')
    await advancing
  })
})
