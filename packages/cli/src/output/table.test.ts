import { describe, expect, test } from 'vitest'
import { printable } from './printable.ts'
import { cutTo, tableLines } from './table.ts'
import { shownTime } from './times.ts'

const columns = [
  { head: 'KEY', of: ([key]: readonly string[]) => key ?? '', least: 4 },
  { head: 'SPARE', of: ([, spare]: readonly string[]) => spare ?? '', spare: 1 },
  { head: 'N', of: ([, , n]: readonly string[]) => n ?? '', right: true },
]

describe('a table', () => {
  const rows = [
    ['a', 'x', '1'],
    ['락락', 'y', '10'],
    ['a-long-key', 'z', '2'],
  ]
  test('is as wide as it has to be where nothing has to fit, and aligned by cells, not characters', () => {
    expect(tableLines(columns, rows, undefined)).toEqual([
      'KEY         SPARE   N',
      'a           x       1',
      '락락        y      10',
      'a-long-key  z       2',
    ])
  })

  test('is not widened by one very long cell', () => {
    const long = 'k'.repeat(200)
    const [, first, second] = tableLines(
      columns,
      [
        ['a', 'x', '1'],
        [long, 'y', '2'],
      ],
      undefined,
    )
    expect([first?.length, second]).toEqual([58, `${long}  y      2`])
  })

  test('cuts first, and then leaves out what can be spared', () => {
    expect(tableLines(columns, rows, 17)).toEqual([
      'KEY     SPARE   N',
      'a       x       1',
      '락락    y      10',
      'a-lon…  z       2',
    ])
    expect(tableLines(columns, rows, 10)).toEqual(['KEY      N', 'a        1', '락락    10', 'a-lon…   2'])
  })
})

test('a cut text ends with a mark, and splits no character', () => {
  expect(cutTo('abcdef', 4)).toBe('abc…')
  expect(cutTo('락락락', 4)).toBe('락…')
  expect(cutTo('ab', 2)).toBe('ab')
})

test('control characters, and those that turn a text around, are shown by their number', () => {
  expect(printable('a\u001b[2J\n\u202eb\u0085')).toBe('a\\u001b[2J\\u000a\\u202eb\\u0085')
  expect(printable('주문-🔒 é')).toBe('주문-🔒 é')
})

test.each([
  [0, '0 ms'],
  [999.6, '1.0 s'],
  [4_230, '4.2 s'],
  [42_000, '42s'],
  [192_000, '3m 12s'],
  [7_200_000, '2h'],
  [90_000_000, '1d 1h'],
])('%d ms is shown as %s', (ms, shown) => {
  expect(shownTime(ms)).toBe(shown)
})
