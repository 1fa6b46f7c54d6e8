import { ManualClock } from '@leasehold/testkit'
import { beforeEach, expect, test } from 'vitest'
import { FairTurns } from './fair-turns.ts'

let clock: ManualClock
let turns: FairTurns
let done: string[]
beforeEach(() => {
  clock = new ManualClock()
  turns = new FairTurns(clock)
  done = []
})

/** A step with `count` things to do, each recorded under the name. */
function work(name: string, count: number): () => boolean {
  let left = count
  return () => {
    done.push(name)
    return --left > 0
  }
}

test('little is done at once, without a timer', () => {
  turns.add(work('a', 3))
  expect(done).toEqual(['a', 'a', 'a'])
  expect(clock.pending).toBe(0)
})

test('of much a part is done at once, and the rest in as many turns as it takes', async () => {
  turns.add(work('a', 100))
  expect(done).toHaveLength(32)
  await clock.advance(0)
  expect(done).toHaveLength(100)
  expect(clock.pending).toBe(0)
})

test('what is little comes soon, whatever others have to do', async () => {
  turns.add(work('much', 10_000))
  turns.add(work('more', 10_000))
  turns.add(work('little', 1))
  await clock.advance(0)
  expect(done.indexOf('little')).toBeLessThanOrEqual(32 + 2)
  expect(done).toHaveLength(20_001)
})

test('many who have little each do not do all of it in one turn', async () => {
  for (let which = 0; which < 1_000; which++) turns.add(work(`${which}`, 1))
  expect(done).toHaveLength(32)
  await clock.advance(0)
  expect(done).toHaveLength(1_000)
})

test('a step that throws keeps nobody else from theirs, and has its next', async () => {
  let throws = true
  const step = (): boolean => {
    if (throws) throw new Error('once')
    return false
  }
  expect(() => turns.add(step)).toThrow('once')
  throws = false
  turns.add(work('a', 2))
  await clock.advance(0)
  expect(done).toEqual(['a', 'a'])
  expect(clock.pending).toBe(0)
})

test('what is added while a step is taken is not lost', async () => {
  const second = work('second', 1)
  turns.add(() => {
    turns.add(second)
    return false
  })
  expect(done).toEqual(['second'])
})
