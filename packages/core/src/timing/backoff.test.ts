import { describe, expect, it } from 'vitest'
import { InvalidOptionError } from '../errors.ts'
import { backoff, jitter, poll } from './backoff.ts'

const almostOne = 1 - Number.EPSILON

describe('poll', () => {
  it('tries each 50 ms on average, jittered by half of that either way', () => {
    const { delayMs } = poll()
    expect(delayMs(1, 0)).toBe(25)
    expect(delayMs(7, 0.5)).toBe(50)
    expect(delayMs(1_000, almostOne)).toBeCloseTo(75)
  })

  it('takes its beat as a duration', () => {
    expect(poll({ every: '2s' }).delayMs(1, 0.5)).toBe(2_000)
  })
})

describe('backoff', () => {
  it('doubles from 10 ms up to a second, each pause between half and all of it', () => {
    const { delayMs } = backoff()
    const least = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((tries) => delayMs(tries, 0))
    const most = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((tries) => delayMs(tries, almostOne))
    expect(least).toEqual([5, 10, 20, 40, 80, 160, 320, 500, 500])
    expect(most.map(Math.round)).toEqual([10, 20, 40, 80, 160, 320, 640, 1_000, 1_000])
  })

  it('stays finite however often it is refused', () => {
    expect(backoff().delayMs(100_000, 0)).toBe(500)
  })

  it('takes its bounds as durations', () => {
    const { delayMs } = backoff({ from: '1s', to: '3s' })
    expect([1, 2, 3].map((tries) => delayMs(tries, 0))).toEqual([500, 1_000, 1_500])
  })
})

describe('a strategy', () => {
  it('takes no number in place of its options, and no option that it does not know', () => {
    for (const make of [poll, backoff]) {
      expect(() => make(500 as never)).toThrow(InvalidOptionError)
      expect(() => make({ interval: 500 } as never)).toThrow('Option "interval" is not known')
    }
  })

  it('refuses bad bounds by name', () => {
    const refused = (option: string) => expect.objectContaining({ code: 'INVALID_OPTION', option })
    expect(() => poll({ every: 0 })).toThrow(InvalidOptionError)
    expect(() => poll({ every: 0 })).toThrow(refused('every'))
    expect(() => backoff({ from: -1 })).toThrow(refused('from'))
    expect(() => backoff({ to: Number.POSITIVE_INFINITY })).toThrow(refused('to'))
  })

  it('draws jitter from 0 up to, and not including, 1', () => {
    for (let draw = 0; draw < 1_000; draw++) {
      const drawn = jitter()
      expect(drawn).toBeGreaterThanOrEqual(0)
      expect(drawn).toBeLessThan(1)
    }
  })
})
