import { ManualClock } from '@leasehold/testkit'
import { beforeEach, expect, test } from 'vitest'
import { JoinedLog } from './joined-log.ts'

let clock: ManualClock
let joined: JoinedLog
let lines: string[]
beforeEach(() => {
  clock = new ManualClock()
  joined = new JoinedLog(clock)
  lines = []
})

const write = (name: string, count = 1): void => {
  for (let at = 0; at < count; at++) joined.write(name, (times) => lines.push(`${name} ×${times}`))
}

test('the first line of a cause is written at once, and what comes within 10 s is one line at their end', async () => {
  write('a', 20_001)
  expect(lines).toEqual(['a ×1'])
  await clock.advance(9_999)
  expect(lines).toEqual(['a ×1'])
  await clock.advance(1)
  expect(lines).toEqual(['a ×1', 'a ×20000'])
})

test('a cause that goes on is one line each 10 s, and one that is over is new when it comes back', async () => {
  for (let second = 0; second < 60; second++) {
    write('a', 10)
    await clock.advance(1_000)
  }
  expect(lines).toEqual(['a ×1', 'a ×99', ...Array(5).fill('a ×100')])
  await clock.advance(10_000)
  expect([lines.length, clock.pending]).toEqual([7, 0])
  write('a')
  expect(lines.at(-1)).toBe('a ×1')
})

test('causes do not hold each other back, and a flush writes what is held of those that are meant', async () => {
  write('disconnected one', 3)
  write('disconnected other', 2)
  write('store', 4)
  expect(lines).toEqual(['disconnected one ×1', 'disconnected other ×1', 'store ×1'])
  joined.flush('disconnected')
  expect(lines.slice(3)).toEqual(['disconnected one ×2', 'disconnected other ×1'])
  write('disconnected one')
  await clock.advance(10_000)
  expect(lines.slice(5)).toEqual(['disconnected one ×1', 'store ×3'])
  write('store', 2)
  joined.end()
  expect(lines.slice(7)).toEqual(['store ×2'])
  expect(clock.pending).toBe(0)
})

test('of causes without number some are told apart, and the others are joined; no line is lost', async () => {
  for (let at = 0; at < 10_000; at++) write(`a ${at}`)
  // One line for each of the hundred causes, and the first line of the others.
  expect(lines).toHaveLength(101)
  await clock.advance(10_000)
  expect(lines).toHaveLength(102)
  expect(lines.reduce((sum, line) => sum + Number(line.split('×')[1]), 0)).toBe(10_000)
})
