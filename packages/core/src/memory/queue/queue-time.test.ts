import { expect, it } from 'vitest'
import { QueueTime } from './queue-time.ts'

it('goes on where it was when the clock of the server is set back', () => {
  const time = new QueueTime()
  expect([100_000, 101_000, 41_000, 42_000, 12_000].map((serverMs) => time.at(serverMs))).toEqual([
    100_000, 101_000, 101_000, 102_000, 102_000,
  ])
})
