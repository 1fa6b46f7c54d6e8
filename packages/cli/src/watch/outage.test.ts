import { expect, test } from 'vitest'
import { Outage } from './outage.ts'

test('the end of an outage is told with its time, for a while', () => {
  const outage = new Outage()
  const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 12, 0, second))
  expect([outage.after(undefined, at(0)), outage.after('no answer', at(1))]).toEqual([undefined, undefined])
  expect(outage.after(undefined, at(2))).toBe('Redis answers again since 12:00:02 UTC')
  expect(outage.after(undefined, at(5))).toBe('Redis answers again since 12:00:02 UTC')
  expect(outage.after(undefined, at(20))).toBeUndefined()
})
