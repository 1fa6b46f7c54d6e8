import { StoreUnavailableError } from '@leasehold/core'
import { follow, ManualClock } from '@leasehold/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { Entrance } from './entrance.ts'
import { enterWithinMs, mostEntering } from './figures.ts'

let clock: ManualClock
let entrance: Entrance
let inside: number
let most: number
let order: number[]
beforeEach(() => {
  clock = new ManualClock()
  entrance = new Entrance(clock)
  inside = 0
  most = 0
  order = []
})

/** Enters, which takes a while. */
const enter = (at: number, takesMs = 100, signal?: AbortSignal) =>
  follow(
    entrance.pass(async () => {
      order.push(at)
      inside++
      most = Math.max(most, inside)
      await new Promise<void>((resolve) => clock.schedule(resolve, takesMs))
      inside--
      return at
    }, signal),
    clock,
  )

describe('the entrance', () => {
  it('lets so many in at once and no more, in the order in which they came', async () => {
    const all = Array.from({ length: 3 * mostEntering }, (_, at) => enter(at))
    await clock.advance(300)
    expect(all.every(({ state }) => state === 'fulfilled')).toBe(true)
    expect(most).toBe(mostEntering)
    expect(order).toEqual(all.map((_, at) => at))
    expect(clock.pending).toBe(0)
  })

  it('refuses who did not get its turn in time, by name, and keeps nothing of it', async () => {
    for (let at = 0; at < mostEntering; at++) enter(at, 2 * enterWithinMs)
    const late = enter(99)
    await clock.advance(enterWithinMs)
    expect(late.reason).toBeInstanceOf(StoreUnavailableError)
    expect(late.reason).toMatchObject({ executed: 'no' })
    await clock.advance(enterWithinMs)
    expect([order.includes(99), clock.pending]).toEqual([false, 0])
    expect(enter(100).state).toBe('pending')
    expect(order.at(-1)).toBe(100)
  })

  it('lets go at once of who has been aborted', async () => {
    for (let at = 0; at < mostEntering; at++) enter(at)
    const stop = new AbortController()
    const [first, second] = [enter(98, 100, stop.signal), enter(99)]
    stop.abort('gone')
    await clock.advance(0)
    expect([first.state, first.reason]).toEqual(['rejected', 'gone'])
    await clock.advance(200)
    expect([second.state, order.includes(98)]).toEqual(['fulfilled', false])
  })

  it('refuses all who wait when it closes, and lets those inside finish', async () => {
    const all = Array.from({ length: 2 * mostEntering }, (_, at) => enter(at))
    await clock.advance(50)
    entrance.close('closed')
    await clock.advance(0)
    expect(all.filter(({ reason }) => reason === 'closed')).toHaveLength(mostEntering)
    await clock.advance(50)
    expect(all.filter(({ state }) => state === 'fulfilled')).toHaveLength(mostEntering)
    expect(clock.pending).toBe(0)
  })

  it('gives the place on when an enter fails', async () => {
    const failing = Array.from({ length: 2 * mostEntering }, () =>
      follow(
        entrance.pass(() => Promise.reject(new Error('down')), undefined),
        clock,
      ),
    )
    await clock.advance(0)
    expect(failing.every(({ state }) => state === 'rejected')).toBe(true)
    const next = enter(1)
    await clock.advance(100)
    expect(next.state).toBe('fulfilled')
  })
})
