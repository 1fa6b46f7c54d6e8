import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { type Hold, holdLine, Timeline, waitsLine } from './timeline.ts'

const key = 'order:o-1'

test('a hold is told with who asked for it, when, and how long it waited and held', () => {
  const holds: Hold[] = []
  const timeline = new Timeline((hold) => holds.push(hold))
  timeline.add('A', 'TCP', { at: 1_000, type: 'contended', key })
  timeline.add('A', 'TCP', { at: 1_040, type: 'acquired', key, fence: 123, waitedMs: 40, commands: 2 })
  timeline.add('A', 'TCP', { at: 1_055, type: 'released', key, fence: 123, outcome: 'released', heldMs: 15 })
  expect(holds).toEqual([{ server: 'A', way: 'TCP', key, fence: 123, askedAt: 1_000, waitedMs: 40, heldMs: 15 }])
  const line = stripVTControlCharacters(holdLine(holds[0] as Hold, 500))
  expect(line).toBe(
    '  0.500 s  A TCP   order:o-1        ░░░░░░░░███               waited   40 ms  held   15 ms  fence …123',
  )
})

test('what it took to get locks is told for each way: waits, commands, wake-ups', () => {
  const timeline = new Timeline(() => undefined)
  for (const fence of [5, 6]) {
    timeline.add('C', 'HTTP', { at: 10, type: 'contended', key })
    timeline.add('C', 'HTTP', { at: 30, type: 'woken', key })
    timeline.add('C', 'HTTP', { at: 31, type: 'acquired', key, fence, waitedMs: 10.25 * fence, commands: fence - 3 })
  }
  const waits = { count: 2, longestMs: 61.5, woken: 2, acquired: 2, commands: 5 }
  expect(Array.from(timeline.waits)).toEqual([['HTTP', waits]])
  const line = '2 requests over HTTP waited for a lock, 62 ms at most; 2.5 commands for each lock'
  expect(waitsLine('HTTP', waits)).toBe(`${line}; 2 wake-ups through the bridge`)
  expect(waitsLine(undefined, { ...waits, acquired: 0, woken: 0 })).toBe('2 requests waited for a lock, 62 ms at most')
})

test('a hold that was lost is told once, as lost', () => {
  const holds: Hold[] = []
  const timeline = new Timeline((hold) => holds.push(hold))
  timeline.add('B', 'HTTP', { at: 10, type: 'acquired', key, fence: 5, waitedMs: 0, commands: 1 })
  timeline.add('B', 'HTTP', { at: 30, type: 'lost', key, fence: 5, reason: 'gone' })
  timeline.add('B', 'HTTP', { at: 31, type: 'released', key, fence: 5, outcome: 'expired', heldMs: 21 })
  expect(holds).toEqual([
    { server: 'B', way: 'HTTP', key, fence: 5, askedAt: 10, waitedMs: 0, heldMs: 20, lost: 'gone' },
  ])
})

test('however long it took, a line keeps its width', () => {
  const hold = { server: 'A', way: 'TCP' as const, key, fence: 1, askedAt: 0, waitedMs: 9_000, heldMs: 9_000 }
  const short = { ...hold, waitedMs: 0, heldMs: 0 }
  const lengthOf = (each: Hold): number => stripVTControlCharacters(holdLine(each, 0)).length
  expect(lengthOf(hold)).toBe(lengthOf(short))
})
