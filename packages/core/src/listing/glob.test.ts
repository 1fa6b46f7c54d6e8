import { describe, expect, test } from 'vitest'
import { globMatcher } from './glob.ts'

describe('a pattern', () => {
  test.each([
    ['*', ['', 'a', 'a:b'], []],
    ['order:*', ['order:', 'order:1', 'order:*'], ['orders:1', 'xorder:1', 'Order:1']],
    ['*:1', ['a:1', ':1', 'a:1:1'], ['a:11', 'a']],
    ['a*b*c', ['abc', 'a-b-b-c', 'abbcc'], ['acb', 'ab', 'xabc']],
    ['a?c', ['abc', 'a*c', 'a🔒c'], ['ac', 'abbc']],
    ['a[bc]d', ['abd', 'acd'], ['aad', 'ad', 'abcd']],
    ['a[0-35]', ['a0', 'a3', 'a5'], ['a4', 'a-']],
    ['a[3-0]', ['a1'], ['a4']],
    ['a[^0-9]', ['ab', 'a-'], ['a1']],
    ['a[\\]]', ['a]'], ['a\\']],
    ['a[bc', ['ab', 'ac'], ['a[']],
    ['\\*\\?\\[a]', ['*?[a]'], ['x?[a]', '*?a']],
    ['a\\', ['a\\'], ['a']],
    ['', [''], ['a']],
  ])('%j', (pattern, those, others) => {
    const matches = globMatcher(pattern)
    expect(those.filter((key) => !matches(key))).toEqual([])
    expect(others.filter(matches)).toEqual([])
  })

  test('that would cost a backtracking matcher centuries is as quick as any', () => {
    expect(globMatcher(`${'a*'.repeat(50)}b`)('a'.repeat(500))).toBe(false)
  })
})
