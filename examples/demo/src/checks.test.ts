import { describe, expect, test } from 'vitest'
import {
  checkAnswers,
  checkEffects,
  checkExits,
  checkFences,
  checkHolds,
  checkLeftovers,
  checkLimits,
  checkWakeUps,
} from './checks.ts'
import type { LedgerEntry } from './ledger.ts'
import type { Expected } from './requests.ts'

const hold = (server: string, key: string, fence: number, effect?: string): LedgerEntry[] => [
  { type: 'enter', server, key, fence },
  ...(effect === undefined ? [] : [{ type: 'effect' as const, server, key, fence, effect }]),
  { type: 'leave', server, key, fence },
]

const expected: Expected = {
  orders: new Set(['o-1', 'o-2']),
  coupons: new Map([['few', { limit: 2, users: new Set(['u-1', 'u-2', 'u-3']) }]]),
}
const good: readonly LedgerEntry[] = [
  ...hold('A', 'order:o-1', 10, 'charge:o-1'),
  ...hold('B', 'order:o-1', 11),
  ...hold('B', 'order:o-2', 7, 'charge:o-2'),
  ...hold('A', 'coupon:few', 20, 'issue:few:u-3'),
  ...hold('B', 'coupon:few', 30, 'issue:few:u-1'),
]

test('a good run breaks no claim', () => {
  const findings = [
    checkEffects(good, expected),
    checkLimits(good, expected),
    checkFences(good),
    checkHolds(good),
    checkAnswers(10, []),
    checkWakeUps({ count: 3, woken: 2 }),
    checkWakeUps({ count: 0, woken: 0 }),
    checkExits([{ name: 'A', code: 0 }]),
    checkLeftovers([], 1_000),
  ]
  expect(findings.flatMap(({ violations }) => violations)).toEqual([])
  expect(findings.map(({ extent }) => extent).slice(0, 4)).toEqual([
    '4 effects',
    'few 2 of 2',
    '3 keys',
    'holds: A 2, B 3',
  ])
})

test('holds of different keys may overlap', () => {
  const [enter, leave] = hold('A', 'x', 1) as [LedgerEntry, LedgerEntry]
  expect(checkHolds([enter, ...hold('B', 'y', 2), leave]).violations).toEqual([])
})

describe('each deliberate fault is found', () => {
  test('an effect that happened twice', () => {
    const twice = [...good, ...hold('A', 'order:o-1', 12, 'charge:o-1')]
    expect(checkEffects(twice, expected).violations).toEqual(['charge:o-1 happened 2 times'])
  })

  test('an effect that never happened', () => {
    const less = good.filter(({ effect }) => effect !== 'charge:o-2')
    expect(checkEffects(less, expected).violations).toEqual(['charge:o-2 never happened'])
  })

  test('an effect nobody asked for', () => {
    const more = [...good, ...hold('A', 'order:o-3', 12, 'charge:o-3')]
    expect(checkEffects(more, expected).violations).toEqual(['charge:o-3 happened, and nobody asked for it'])
  })

  test('a coupon beyond its limit, and one that was not issued', () => {
    const over = [...good, ...hold('A', 'coupon:few', 31, 'issue:few:u-2')]
    expect(checkLimits(over, expected).violations).toEqual(['coupon few was issued 3 times instead of 2'])
    const under = good.filter(({ effect }) => effect !== 'issue:few:u-1')
    expect(checkLimits(under, expected).violations).toEqual(['coupon few was issued 1 times instead of 2'])
  })

  test('a fence that goes back, or does not rise', () => {
    const back = [...hold('A', 'x', 10), ...hold('B', 'x', 9), ...hold('A', 'x', 10)]
    expect(checkFences(back).violations).toEqual([
      'x was held with fence 9 after 10',
      'x was held with fence 10 after 10',
    ])
  })

  test('holds of one key that overlap', () => {
    const [enter, leave] = hold('A', 'x', 1) as [LedgerEntry, LedgerEntry]
    expect(checkHolds([enter, ...hold('B', 'x', 2), leave]).violations).toEqual([
      'B with fence 2 entered x while A with fence 1 was inside',
    ])
  })

  test('two holds of one server that overlap under the same fence', () => {
    const [enter, leave] = hold('A', 'x', 0) as [LedgerEntry, LedgerEntry]
    expect(checkHolds([enter, enter, leave, leave]).violations).not.toEqual([])
  })

  test('an effect outside of its hold', () => {
    const [enter, effect, leave] = hold('A', 'x', 1, 'charge:x') as [LedgerEntry, LedgerEntry, LedgerEntry]
    const problem = 'charge:x was done by A with fence 1, who did not hold x'
    expect(checkHolds([enter, leave, effect]).violations).toEqual([problem])
    expect(checkHolds([effect, enter, leave]).violations).toEqual([problem])
  })

  test('a hold that never ends', () => {
    expect(checkHolds(good.slice(0, 2)).violations).toEqual(['A with fence 10 never left order:o-1'])
  })

  test('a key that is left over', () => {
    expect(checkLeftovers(['{demo:lock:x}:fence'], 6_000).violations).toEqual(['{demo:lock:x}:fence was left behind'])
  })

  test('waits that the bridge did not end', () => {
    expect(checkWakeUps({ count: 3, woken: 0 }).violations).toEqual(['nobody was'])
  })

  test('a request without an answer, and a server that had to be killed', () => {
    expect(checkAnswers(10, ['POST /x']).violations).toEqual(['POST /x'])
    const exits = [
      { name: 'A', code: null },
      { name: 'B', code: 1 },
    ]
    expect(checkExits(exits).violations).toEqual(['server A ended by force', 'server B ended with code 1'])
  })
})
