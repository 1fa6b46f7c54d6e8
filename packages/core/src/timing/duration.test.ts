import { describe, expect, it } from 'vitest'
import { InvalidOptionError } from '../errors.ts'
import { parseDuration } from './duration.ts'

describe('a duration', () => {
  it.each([
    [1, 1],
    [5_000, 5_000],
    ['250ms', 250],
    ['5s', 5_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['1.5s', 1_500],
    ['0.25m', 15_000],
    [Number.MAX_SAFE_INTEGER, 2 ** 53 - 1],
  ])('%j is %d ms', (value, ms) => {
    expect(parseDuration('ttl', value)).toBe(ms)
  })

  it.each([
    [123.45, 124],
    [0.0001, 1],
    [Number.MIN_VALUE, 1],
    ['0.5ms', 1],
    ['1.0005s', 1_001],
  ])('%j is rounded up to %d whole milliseconds', (value, ms) => {
    expect(parseDuration('ttl', value)).toBe(ms)
  })

  it('is refused with an example that is long enough for a watchdog, too', () => {
    const parsing = (value: unknown) => parseDuration('ttl', value, 120_000)
    expect(() => parsing('30s')).toThrow('from 120000 to 2^53 ms, such as "5m"')
    expect(parsing('5m')).toBe(300_000)
  })

  it.each([
    ...[0, -1, -5, -0.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    ...[2 ** 53, 2 ** 53 + 2, 1e308, '9007199254740992ms', '2501999792984h', `${'9'.repeat(400)}s`],
    ...['0ms', '0s', '', ' ', '5', '5 s', ' 5s', '5s ', '5S', '5sec', '-5s', '+5s'],
    ...['1e3s', '.5s', '5.s', '5,5s', '0x5s'],
    ...['Infinitys', 'NaNms', '5d', '5s5s', '٥s', '5s\n'],
    ...[null, undefined, true, {}, [], [5], ['5s'], new Date(5), () => 5, { valueOf: () => 5 }, Object('5s')],
  ])('%j is refused by name', (value) => {
    const parsing = () => parseDuration('maxHold', value)
    expect(parsing).toThrow(InvalidOptionError)
    expect(parsing).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', option: 'maxHold' }))
    expect(parsing).toThrow(/"maxHold"/)
  })

  it('is refused by name although it cannot even be converted to a number', () => {
    for (const value of [5n, Symbol('5s'), Object.create(null)]) {
      expect(() => parseDuration('ttl', value)).toThrow(InvalidOptionError)
    }
  })

  it('may be 0 where its option says so, and nothing below', () => {
    expect(parseDuration('wait', 0, 0)).toBe(0)
    expect(parseDuration('wait', '0s', 0)).toBe(0)
    expect(() => parseDuration('wait', -1, 0)).toThrow(InvalidOptionError)
    expect(() => parseDuration('wait', -0.5, 0)).toThrow(InvalidOptionError)
    expect(() => parseDuration('wait', Number.NaN, 0)).toThrow(InvalidOptionError)
  })
})
