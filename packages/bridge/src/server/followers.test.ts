import { ManualClock } from '@leasehold/testkit'
import { expect, test } from 'vitest'
import { FairTurns } from './fair-turns.ts'
import { Followers } from './followers.ts'

/** A round of this many followers takes several turns of the event loop. */
const many = 1_000

function followersOf(count: number) {
  const clock = new ManualClock()
  const followers = new Followers(clock, new FairTurns(clock), () => undefined)
  const told = Array.from({ length: count }, () => 0)
  const leave = told.map((_, which) =>
    followers.add({
      state: () => undefined,
      released: () => {
        told[which] = (told[which] ?? 0) + 1
      },
      unavailable: () => undefined,
    }),
  )
  return { clock, followers, told, leave, total: () => told.reduce((sum, each) => sum + each, 0) }
}

test('a release that comes while many are told of one is told to those alone who had been told before', async () => {
  const { clock, followers, told, total } = followersOf(many)
  followers.tellReleased()
  const early = total()
  expect(early).toBeLessThan(100)
  followers.tellReleased()
  await clock.advance(49)
  expect(total()).toBe(many)
  await clock.advance(1)
  expect(total()).toBe(many + early)
  expect(told.slice(0, early).every((each) => each === 2)).toBe(true)
  await clock.advance(1_000)
  expect(total()).toBe(many + early)
  expect(clock.pending).toBe(0)
})

test('who leaves while others are told is told nothing more, and the others are', async () => {
  const { clock, followers, leave, total } = followersOf(many)
  followers.tellReleased()
  const early = total()
  for (const each of leave.slice(500)) each()
  await clock.advance(0)
  expect([early < 500, total()]).toEqual([true, 500])
})

test('when all have left while many were told, those who come later are told of the next release at its time', async () => {
  const { clock, followers, leave } = followersOf(many)
  followers.tellReleased()
  for (const each of leave) each()
  let told = 0
  followers.add({ state: () => undefined, released: () => told++, unavailable: () => undefined })
  await clock.advance(0)
  expect(told).toBe(0)
  followers.tellReleased()
  await clock.advance(50)
  expect(told).toBe(1)
})
