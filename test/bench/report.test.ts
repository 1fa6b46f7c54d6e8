import { describe, expect, test } from 'vitest'
import { circumstances } from './report/circumstances.ts'
import { verdicts } from './report/gates.ts'
import { ratioOf, rivalsAmong } from './report/ratios.ts'
import { measuredIn, recorded, recordingText } from './report/recording.ts'
import type { Measured } from './rounds.ts'
import type { Figures } from './scenarios/scenario.ts'
import { uncontendedTable } from './scenarios/uncontended.ts'

const sample = (row: string, role: Measured['role'], figures: Figures, round = 1): Measured => ({
  ...{ scenario: 'uncontended', table: uncontendedTable('ioredis', 16), row, role, round, figures },
  ...{ noisy: false, load: 0.5, slowdown: 1, stolen: 0 },
})

describe('a gate', () => {
  const ours = sample('leasehold', 'ours', { rate: 80 })
  const floor = sample('scripts-batched-ioredis', 'floor', { rate: 100 })

  test('is missed by a figure beyond its limit, and held by one within', () => {
    expect(verdicts([ours, floor])).toEqual([
      expect.objectContaining({ isGated: true, isHeld: false, text: expect.stringContaining('= 0.8 (≥ 0.85)') }),
    ])
    expect(verdicts([sample('leasehold', 'ours', { rate: 90 }), floor])[0]).toMatchObject({ isHeld: true })
  })

  test('is not judged without figures of both', () => {
    expect(verdicts([ours])).toEqual([])
    expect(verdicts([])).toEqual([])
  })

  test('that means other libraries means those on the same client, and is only told', () => {
    const onOther = sample('simple-redis-mutex', 'other', { rate: 1_000 })
    expect(verdicts([ours, onOther])).toEqual([])
    const onSame = sample('verrou', 'other', { rate: 100 })
    expect(verdicts([ours, onOther, onSame])).toEqual([
      expect.objectContaining({ isGated: false, isHeld: false, text: expect.stringContaining('÷ verrou = 0.8') }),
    ])
  })
})

test('a ratio is taken within each round, so that a slow round counts as one', () => {
  const measured = [1, 2, 3].flatMap((round) => {
    const pace = round === 2 ? 10 : 1
    return [sample('leasehold', 'ours', { p50: 2 * pace }, round), sample('redlock', 'other', { p50: pace }, round)]
  })
  expect(ratioOf(measured, 'p50', 'leasehold', 'redlock')).toBe(2)
})

test('the best other is one that served everybody, if there is any', () => {
  const greedy = sample('verrou', 'other', { rate: 9, failed: 0, starved: 20 })
  const impatient = sample('redlock', 'other', { rate: 9, failed: 5, starved: 0 })
  const fair = sample('redis-semaphore', 'other', { rate: 3, failed: 0, starved: 0 })
  const names = ['verrou', 'redlock', 'redis-semaphore']
  expect(rivalsAmong(names, [greedy, impatient, fair])).toEqual(['redis-semaphore'])
  expect(rivalsAmong(names.slice(0, 2), [greedy, impatient])).toEqual(['verrou'])
})

test('a noisy machine is named, with the rounds that it spoilt', () => {
  const quiet = sample('leasehold', 'ours', {})
  expect(circumstances([quiet])).toBe('1 round, none noisy, load average 0.5–0.5')
  const disturbed = { ...quiet, round: 2, noisy: true, slowdown: 1.8, load: 3, stolen: 0.07 }
  expect(circumstances([quiet, disturbed])).toBe(
    '2 rounds, NOISY MACHINE in round 2 (1.8 × as slow), load average 0.5–3.0, 7 % stolen',
  )
})

test('what was recorded comes back, but for digits that nobody knows', () => {
  const measured = [
    sample('leasehold', 'ours', { p50: 0.123456, p99: 2 }, 1),
    sample('leasehold', 'ours', { p50: 3 }, 2),
  ]
  const text = recordingText({ uncontended: recorded('a machine', measured) })
  expect(measuredIn(JSON.parse(text), 'uncontended')).toEqual([
    sample('leasehold', 'ours', { p50: 0.1235, p99: 2 }, 1),
    sample('leasehold', 'ours', { p50: 3 }, 2),
  ])
  expect(measuredIn(JSON.parse(text), 'handoff')).toEqual([])
})
